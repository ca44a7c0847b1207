"""A running sweep as its files describe it: how far it is, whether it still runs, and what users ask of it.

    <results_dir>/<sweep id>/progress.json      how far the sweep is; deleted at its end
    <results_dir>/<sweep id>/.running/<name>    heartbeat of its process: see `runner.engine.store.writers`
    <results_dir>/<sweep id>/.steering          requests of users, one JSON object per line

Sweeps with another launcher than `grid`, such as `hydra/launcher=joblib`, have none of them and cannot be steered.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from components.errors import DataError
from components.json_value import Json
from components.secrets.mask import masked_values
from runner.console.written_files import write_whole
from runner.results.cell_result import RUNNING, SweepResult
from runner.results.json_types import require_types
from runner.results.sealed_json import read_content

if TYPE_CHECKING:
    from runner.engine.store.writers import Writers

PROGRESS, HEARTBEATS, STEERING = "progress.json", ".running", ".steering"
PAUSE, RESUME, STOP = "pause", "resume", "stop"

KILLED = "KILLED"
"""State of a sweep whose process ended without recording it."""

_MAX_BYTES = 1_000_000
"""Bytes of requests that are read. A user types each request."""
_MAX_SECONDS, _MAX_BUDGET = 1e11, 1e300
"""Seconds, and amounts of a budget, that can be shown."""
_MAX_CHARACTERS = 100


@dataclass(frozen=True)
class Progress:
    """One `progress.json`.

    `process` names the heartbeat, and `ledger` the file with the spending. `budget` has the limits by setting.
    `running` are the kinds of stages that run, as `{title, n, n_cells}`: their number, and the number of cells that
    need them, 0 in the rounds of a race. `left_s` are the estimated seconds left at the time `written`, None if
    unknown. `note` is the last line of a race or a search.
    """

    process: str
    ledger: str
    currency: str
    budget: Mapping[str, float]
    written: float
    n_stages: int
    n_stages_done: int
    n_cells_running: int
    running: tuple[Mapping[str, Json], ...]
    left_s: float | None
    is_paused: bool
    note: str


@dataclass(frozen=True)
class LiveSweep:
    """The state of a sweep: its status in `sweep.json`, or KILLED.

    `progress` is None unless a process reports it. `spent` has the fields of `SweepResult.spent`.
    """

    state: str
    progress: Progress | None = None
    spent: Mapping[str, Json] = field(default_factory=dict)


def write_progress(sweep_dir: Path, progress: Progress) -> None:
    """Write `progress.json` atomically, without secrets. Raises OSError if it cannot be written."""
    record = masked_values(asdict(progress))
    write_whole(sweep_dir / PROGRESS, json.dumps(record, ensure_ascii=False, allow_nan=False).encode())


def read_live(sweep_dir: Path, sweep: SweepResult) -> LiveSweep:
    """Return the state of a sweep now. Raises DataError if its progress cannot be read."""
    from runner.engine.spending.ledger import read_spent  # readers of finished sweeps need no engine

    progress = _read_progress(sweep_dir / PROGRESS) if sweep.status == RUNNING else None
    if progress is None:
        return LiveSweep(sweep.status, spent=sweep.spent)
    try:
        spent = read_spent(sweep_dir / progress.ledger).facts(progress.currency)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{sweep_dir / progress.ledger}: is not the spending of a sweep ({error})") from error
    return LiveSweep(RUNNING if _is_alive(sweep_dir, progress) else KILLED, progress, spent)


def _read_progress(path: Path) -> Progress | None:
    try:
        raw = json.loads(read_content(path))
        require_types(raw, Progress)
        progress = Progress(**raw)
        for name in (progress.process, progress.ledger):
            if Path(name).name != name or not name.isprintable() or not name.isascii():
                raise ValueError(f"got {name!a}, expected the name of a file without a folder")
        for limit, numbers in (
            (_MAX_SECONDS, (progress.written, progress.left_s or 0.0)),
            (_MAX_BUDGET, progress.budget.values()),
        ):
            if not all(abs(number) < limit for number in numbers):  # the comparison is also false for NaN
                raise ValueError(f"a number that is not finite, or not below {limit:g}")
        for each in progress.running:
            each["title"], each["n"], each["n_cells"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise DataError(f"{path}: is not the progress of a sweep ({error})") from error
    return progress


def _is_alive(sweep_dir: Path, progress: Progress) -> bool:
    try:
        return not _writers(sweep_dir / HEARTBEATS).is_gone(progress.process)
    except OSError as error:
        raise DataError(f"{sweep_dir / HEARTBEATS}: cannot be read ({error.strerror or error})") from error


@cache
def _writers(folder: Path) -> "Writers":
    """Return the same object each time: it must watch a process of another host for a while."""
    from runner.engine.store.writers import Writers

    return Writers(folder, may_write=False)


def add_request(sweep_dir: Path, action: str, cell_id: str = "") -> None:
    """Ask a running sweep to pause, to resume, or to stop a cell.

    Raises DataError if the sweep's folder cannot be written.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    line = json.dumps({"at": at, "action": action, **({"cell_id": cell_id} if cell_id else {})})
    path = sweep_dir / STEERING
    flags = (
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    )  # the folder may belong to another user
    try:
        file = os.open(path, flags, 0o666)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error


def read_requests(sweep_dir: Path) -> list[dict[str, Json]]:
    """Return all requests so far, oldest first. Lines that no command of ours wrote are ignored."""
    try:
        with (sweep_dir / STEERING).open("rb") as file:
            lines = file.read(_MAX_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []
    return [request for line in lines if (request := _request(line))]


def _request(line: str) -> dict[str, Json]:
    try:
        record = json.loads(line)
        request = {name: str(record[name])[:_MAX_CHARACTERS] for name in ("at", "action", "cell_id") if name in record}
    except (ValueError, TypeError, RecursionError):
        return {}
    return request if request.get("action") in (PAUSE, RESUME, STOP) else {}
