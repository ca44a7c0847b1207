"""From composed configurations to typed cells, with the mistakes of all of them reported together."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import get_type_hints

from components.errors import ConfigError
from components.secrets.given import misplaced_secrets, named_variables
from components.secrets.known import mark_variable
from components.secrets.mask import current_mask
from runner.engine.plugins.plugin_loading import load_plugins
from runner.launch.headline import headline_mistakes
from runner.launch.overrides import key_of
from runner.pipeline.building import CellBuilder, plugins_of
from runner.pipeline.cell import Cell
from runner.pipeline.planned import CellRequest, Job

log = logging.getLogger(__name__)


@cache
def settings_fields() -> tuple[str, ...]:
    """The fields of a cell that change no result: their types say that they are no axis."""
    return tuple(name for name, kind in get_type_hints(Cell).items() if not getattr(kind, "is_axis", True))


def _unheeded(cell: Cell, job: Job) -> list[str]:
    """Settings that somebody gave for an executor which does not heed them. One that a preset holds is none: it may be
    meant for other executors, and is told when this one starts.
    """
    given = [f"{key_of(override)}." for override in job.overrides]
    told = {f"executor.{name}": why for name, why in cell.executor.unheeded().items()}
    return [f"{name}: {why}" for name, why in told.items() if any(f"{name}.".startswith(key) for key in given)]


def _refuse_secrets(jobs: Sequence[Job]) -> None:
    """Before anything else, so that no later mistake repeats a secret. Raises ConfigError. Parts that cells share are
    searched once. From now on, the variables that the configuration names for keys count as secret.
    """
    parts = {id(part): {name: part} for job in jobs for name, part in job.config.items()}
    for variable in {variable for part in parts.values() for variable in named_variables(part)}:
        mark_variable(variable)
    mask = current_mask()
    mistakes = [mistake for part in parts.values() for mistake in misplaced_secrets(part, mask)]
    if mistakes:
        raise ConfigError(list(dict.fromkeys(mistakes)))


def check_jobs(jobs: Sequence[Job]) -> list[CellRequest]:
    """Typed cells, of users' code as it is now. Raises ConfigError with the mistakes of all jobs, equal ones once."""
    _refuse_secrets(jobs)
    for package in load_plugins({package for job in jobs for package in plugins_of(job.config)}):
        log.warning(
            "%s: loaded again, as its files or those of packages connected by imports are or may be newer than the "
            "code that was imported",
            package,
        )
    requests: list[CellRequest] = []
    mistakes: list[str] = []
    builder = CellBuilder()
    for job in jobs:
        try:
            cell = builder.build(job.config)
            requests.append(CellRequest(cell, job))
            mistakes += _unheeded(cell, job)
        except ConfigError as error:
            mistakes += error.mistakes
    for field in settings_fields():
        if any(getattr(request.cell, field) != getattr(requests[0].cell, field) for request in requests):
            mistakes.append(
                f"{field}.*: differs between cells; these settings belong to the sweep and take one value: start a "
                "sweep for each"
            )
    mistakes += headline_mistakes([request.cell for request in requests])
    if mistakes:
        raise ConfigError(list(dict.fromkeys(mistakes)))
    return requests
