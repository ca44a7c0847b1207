"""Leases of running sweeps on results, which prune then keeps.

<root>/runs/<run id>.json   the process of the run and the keys of its stages; void once that process has ended.
                            Without keys, the run is still planning and may need any result
<root>/locks/prune.lock     held while the store is pruned, and while a lease is written
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.engine.store.key_locks import hold_key_lock
from runner.engine.store.locks import shared_mode
from runner.engine.store.part_files import storage_errors
from runner.engine.store.regular_files import read_small
from runner.engine.store.remote import NO_REMOTE, Remote
from runner.engine.store.writers import Writers

_MAX_BYTES = 1 << 30
"""Bytes of a lease, which has 68 per result."""


@dataclass(frozen=True)
class LeasedResults:
    """Number of live runs, and the keys of all results that they need. None if one of them may need any result."""

    n_runs: int
    keys: frozenset[str] | None

    def has(self, key: str) -> bool:
        """Return True if a run may need this result."""
        return self.keys is None or key in self.keys


class Leases:
    """Leases of all runs in one store."""

    def __init__(self, folder: Path, writers: Writers, remote: Remote = NO_REMOTE) -> None:
        """The first lease creates the folder."""
        self._folder = folder
        self._writers = writers
        self._remote = remote

    def pruning(self) -> AbstractContextManager[object]:
        """Hold a lock while the store is pruned. No process takes a lease meanwhile.

        Raises StoreError if the lock cannot be created.
        """
        return hold_key_lock(self._folder.parent / "locks" / "prune.lock", self._writers, "pruning the store")

    @contextmanager
    def take(self, run_id: str, keys: Iterable[str] | None) -> Iterator[None]:
        """Hold a lease on these results, or on all if `keys` is None, while the context lasts.

        The lease also ends with the process. Raises StoreError if it cannot be written.
        """
        self.write(run_id, keys)
        try:
            yield
        finally:
            self._remote.release(run_id)
            with suppress(OSError):  # the store was deleted, or the lease ends with this process
                (self._folder / f"{run_id}.json").unlink()
                self._writers.remove_dead_heartbeats()

    def write(self, run_id: str, keys: Iterable[str] | None) -> None:
        """Write the keys that a run needs from now on, None for all. Raises StoreError if they cannot be written."""
        needed = None if keys is None else sorted(keys)
        path = self._folder / f"{run_id}.json"
        self._remote.lease(run_id, needed)
        with self.pruning(), storage_errors("the lease of this run", self._folder):
            self._folder.mkdir(exist_ok=True)
            unfinished = self._folder.parent / "tmp" / f"{run_id}.unfinished"  # prune clears `tmp`
            unfinished.write_text(json.dumps({"process": self._writers.own_name, "keys": needed}), encoding="utf-8")
            unfinished.chmod(shared_mode(self._folder))
            unfinished.replace(path)

    def live_leases(self) -> LeasedResults:
        """Return the current leases of live runs. Removes leases of dead runs if this process may write."""
        needs = []
        for path in sorted(self._folder.glob("*.json")):
            with suppress(FileNotFoundError):  # the run has just ended
                process, needed = read_lease(read_small(path, _MAX_BYTES))
                if not process or self._writers.is_gone(process):
                    if self._writers.may_write:
                        path.unlink()
                else:
                    needs.append(needed)
        return join_leases(needs)


def join_leases(needs: Sequence[frozenset[str] | None]) -> LeasedResults:
    """Return the number of runs and the union of their keys, None if one of them may need any result."""
    keys: set[str] = set()
    for needed in needs:
        if needed is None:
            return LeasedResults(len(needs), None)
        keys.update(needed)
    return LeasedResults(len(needs), frozenset(keys))


def read_lease(run: bytes) -> tuple[str, frozenset[str] | None]:
    """Return the process and the keys in a lease file, None for all. "" and no keys for a file that a power cut
    damaged.
    """
    try:
        record = json.loads(run)
        keys = record["keys"]
        return str(record["process"]), None if keys is None else frozenset(map(str, keys))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", frozenset()
