"""From composed configurations to typed cells, with the mistakes of all of them reported together."""

from collections.abc import Sequence

from components.errors import ConfigError
from runner.launch.schema import build_cell
from runner.pipeline.planned import CellRequest, Job


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
    for field in ("run", "tracking", "experiment"):
        if len({repr(getattr(request.cell, field)) for request in requests}) > 1:
            mistakes.append(f"{field}.*: differs between cells; these settings belong to the sweep and take one value")
    if mistakes:
        raise ConfigError(list(dict.fromkeys(mistakes)))
    return requests
