"""Builds typed cells from composed configurations, and reports the errors of all of them together."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import get_type_hints

from components.errors import ConfigError
from components.secrets.configured_secrets import misplaced_secrets, named_variables
from components.secrets.known import mark_variable
from components.secrets.mask import current_mask
from runner.engine.plugins.plugin_loading import load_plugins
from runner.launch.headline import headline_problems
from runner.pipeline.building import CellBuilder, read_plugins
from runner.pipeline.cell import Cell
from runner.pipeline.planned_cells import CellRequest, Job
from runner.results.cell_axes import parse_override_key

log = logging.getLogger(__name__)


@cache
def settings_fields() -> tuple[str, ...]:
    """Return the fields of a cell that change no result. Their types have `is_axis` False."""
    return tuple(name for name, kind in get_type_hints(Cell).items() if not getattr(kind, "is_axis", True))


def _ignored_settings(cell: Cell, job: Job) -> list[str]:
    """Return error messages for settings of the user that the chosen executor ignores.

    Ignored settings of a preset are not errors. They may be for other executors, and this executor reports them when it
    starts.
    """
    keys = [f"{parse_override_key(override)}." for override in job.overrides]
    ignored = {f"executor.{name}": reason for name, reason in cell.executor.ignored_settings().items()}
    return [f"{name}: {reason}" for name, reason in ignored.items() if any(f"{name}.".startswith(key) for key in keys)]


def _refuse_secrets(jobs: Sequence[Job]) -> None:
    """Raise ConfigError if a configuration contains a secret. This check comes first, so that no later error repeats
    one.

    Parts that cells share are searched once. Variables that the configuration names for API keys count as secrets from
    now on.
    """
    parts = {id(part): {name: part} for job in jobs for name, part in job.config.items()}
    for variable in {variable for part in parts.values() for variable in named_variables(part)}:
        mark_variable(variable)
    mask = current_mask()
    problems = [problem for part in parts.values() for problem in misplaced_secrets(part, mask)]
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))


def check_jobs(jobs: Sequence[Job]) -> list[CellRequest]:
    """Build typed cells with the current version of custom code. Raises ConfigError with the distinct errors of all
    jobs.
    """
    _refuse_secrets(jobs)
    for package in load_plugins({package for job in jobs for package in read_plugins(job.config)}):
        log.warning(
            "%s: reloaded, because its files, or files of packages connected by imports, may be newer than the "
            "imported code",
            package,
        )
    requests: list[CellRequest] = []
    problems: list[str] = []
    builder = CellBuilder()
    for job in jobs:
        try:
            cell = builder.build(job.config)
            requests.append(CellRequest(cell, job))
            problems += _ignored_settings(cell, job)
        except ConfigError as error:
            problems += error.problems
    for field in settings_fields():
        if any(getattr(request.cell, field) != getattr(requests[0].cell, field) for request in requests):
            problems.append(
                f"{field}.*: differs between cells, but these settings apply to the whole sweep. Start a separate "
                "sweep for each value."
            )
    problems += headline_problems([request.cell for request in requests])
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return requests
