"""What the process of a sweep keeps in shared folders for as long as it runs. All of it is named after that process, so
that what a killed one left is told from what a live one needs, on whatever host that is.

    results/<sweep>/.slurm-<process>.<number>   the queue of the `slurm` executor
    results/.drivers/<process>                  the sign of life of who has one: see `runner.engine.store.writers`
    store/tmp/probe-<process>.<number>          by which another host shows that its store is the same folder
"""

import shutil
import uuid
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from runner.engine.store import Store
from runner.engine.store.writers import Writers

_QUEUE, _PROBE = ".slurm-", "probe-"


def drivers_in(results_dir: Path) -> Writers:
    """Processes that have queues in a folder of results."""
    return Writers(results_dir / ".drivers")


def new_queue(sweep_dir: Path, drivers: Writers) -> Path:
    """The name of a folder. Raises OSError if a sign of life cannot be given."""
    return sweep_dir / _named(_QUEUE, drivers)


def new_probe(store: Store) -> Path | None:
    """The name of a file; None for a store that is no folder. Raises OSError."""
    return None if store.is_cache else store.root / "tmp" / _named(_PROBE, store.writers)


def clear_queues(results_dir: Path, drivers: Writers) -> None:
    """Removes the queues of those that were killed, and what submitit kept beside the logs for their jobs. A job that
    has not begun will say there that it finds nothing to do. Folders that lie elsewhere, and are only linked to, stay
    as they are: who works in them gives his sign of life there.
    """
    for sweep_dir, queues in groupby(sorted(results_dir.glob(f"*/{_QUEUE}*")), lambda queue: queue.parent):
        if sweep_dir.is_symlink():
            continue
        there = list(queues)
        left = _left(there, _QUEUE, drivers)
        if left == there:
            clear_logs(sweep_dir / "logs")
        for queue in left:
            shutil.rmtree(queue, ignore_errors=True)  # others may be doing so
    drivers.clear_away()


def clear_logs(logs: Path) -> None:
    """Removes what submitit keeps beside the logs of a sweep: pickled work, and links to scripts."""
    for pattern in ("*.pkl", ".submission_file_*"):
        for path in logs.glob(pattern):
            _remove(path)


def left_probes(store: Store) -> list[Path]:
    """Those of processes that were killed."""
    return _left((store.root / "tmp").glob(f"{_PROBE}*"), _PROBE, store.writers)


def clear_probes(store: Store) -> None:
    """Removes those of processes that were killed."""
    for probe in left_probes(store):
        _remove(probe)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):  # others may be doing so; another user's stays for him
        path.unlink()


def _named(prefix: str, writers: Writers) -> str:
    return f"{prefix}{writers.own_name}.{uuid.uuid4().hex[:8]}"


def _left(paths: Iterable[Path], prefix: str, writers: Writers) -> list[Path]:
    owners = {path: path.name.removeprefix(prefix).rpartition(".")[0] for path in paths}
    return [path for path, owner in owners.items() if owner and writers.has_ended(owner)]
