"""Files of a running sweep in shared folders. Their names contain the process, so that any host can tell whether a live
process needs them or a killed one left them.

    results/<sweep>/.slurm-<process>.<number>   queue of the `slurm` executor
    results/.drivers/<process>                  heartbeat of a process with a queue: see `runner.engine.store.writers`
    store/tmp/probe-<process>.<number>          file that shows another host whether its store is the same folder
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


def find_drivers(results_dir: Path) -> Writers:
    """Return the heartbeats of the processes that have queues in a folder of results."""
    return Writers(results_dir / ".drivers")


def new_queue(sweep_dir: Path, drivers: Writers) -> Path:
    """Return a path for a queue. Raises OSError if the heartbeat cannot be written."""
    return sweep_dir / _new_name(_QUEUE, drivers)


def new_probe(store: Store) -> Path | None:
    """Return a path for a probe, or None if the store is not a shared folder.

    Raises OSError if the heartbeat cannot be written.
    """
    return None if store.is_cache else store.root / "tmp" / _new_name(_PROBE, store.writers)


def clear_queues(results_dir: Path, drivers: Writers) -> None:
    """Remove the queues of killed processes, and the files of submitit in the folder of their logs.

    A job that has not started yet will find no work and end. Folders that are links are left alone,
    because their users have their heartbeats there.
    """
    for sweep_dir, queues in groupby(sorted(results_dir.glob(f"*/{_QUEUE}*")), lambda queue: queue.parent):
        if sweep_dir.is_symlink():
            continue
        all_queues = list(queues)
        abandoned = _find_abandoned(all_queues, _QUEUE, drivers)
        if abandoned == all_queues:
            clear_logs(sweep_dir / "logs")
        for queue in abandoned:
            shutil.rmtree(queue, ignore_errors=True)  # other processes may be removing it too
    drivers.remove_dead_heartbeats()


def clear_logs(logs: Path) -> None:
    """Remove submitit's files from the folder of a sweep's logs: pickled work and links to scripts."""
    for pattern in ("*.pkl", ".submission_file_*"):
        for path in logs.glob(pattern):
            _remove(path)


def abandoned_probes(store: Store) -> list[Path]:
    """Return the probes of killed processes."""
    return _find_abandoned((store.root / "tmp").glob(f"{_PROBE}*"), _PROBE, store.writers)


def clear_probes(store: Store) -> None:
    """Remove the probes of killed processes."""
    for probe in abandoned_probes(store):
        _remove(probe)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):  # another process removed the file, or another user owns it
        path.unlink()


def _new_name(prefix: str, writers: Writers) -> str:
    return f"{prefix}{writers.own_name}.{uuid.uuid4().hex[:8]}"


def _find_abandoned(paths: Iterable[Path], prefix: str, writers: Writers) -> list[Path]:
    owners = {path: path.name.removeprefix(prefix).rpartition(".")[0] for path in paths}
    return [path for path, owner in owners.items() if owner and writers.is_dead(owner)]
