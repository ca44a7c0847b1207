"""From composed configurations to typed cells, with the mistakes of all of them reported together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from components.errors import ConfigError
from runner.launch.schema import build_cell
from runner.pipeline.cell import Cell


@dataclass(frozen=True)
class Job:
    """One composed configuration: plain and resolved, with the axes by short name and the overrides that made it."""

    config: Mapping[str, Any]
    axes: Mapping[str, Any]
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class CellRequest:
    """A job whose configuration was checked and built."""

    cell: Cell
    job: Job


@cache
def settings_fields() -> tuple[str, ...]:
    """The fields of a cell that change no result: their types say that they are no axis."""
    return tuple(name for name, kind in get_type_hints(Cell).items() if not getattr(kind, "is_axis", True))


def check_jobs(jobs: Sequence[Job]) -> list[CellRequest]:
    """Typed cells. Raises ConfigError with the mistakes of all jobs, equal ones once."""
    requests: list[CellRequest] = []
    mistakes: list[str] = []
    for job in jobs:
        try:
            cell = build_cell(job.config)
            requests.append(CellRequest(cell, job))
        except ConfigError as error:
            mistakes += error.mistakes
    for field in settings_fields():
        if len({repr(getattr(request.cell, field)) for request in requests}) > 1:
            mistakes.append(f"{field}.*: differs between cells; these settings belong to the sweep and take one value")
    if mistakes:
        raise ConfigError(list(dict.fromkeys(mistakes)))
    return requests
