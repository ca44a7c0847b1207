"""Leases of running sweeps on results, which prune then keeps.

<root>/runs/<run id>.json   the process of the run and the keys of its stages; void once that process has ended
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.engine.store.locks import shared_mode
from runner.engine.store.part_files import keeping
from runner.engine.store.remote import NO_REMOTE, Remote
from runner.engine.store.writers import Writers


@dataclass(frozen=True)
class Leased:
    """Number of live runs, and the keys of all results that they need."""

    n_runs: int
    keys: frozenset[str]


class Leases:
    """Leases of all runs in one store."""

    def __init__(self, folder: Path, writers: Writers, remote: Remote = NO_REMOTE) -> None:
        """The first lease creates the folder."""
        self._folder = folder
        self._writers = writers
        self._remote = remote

    @contextmanager
    def take(self, run_id: str, keys: Iterable[str]) -> Iterator[None]:
        """Hold a lease on these results while the context lasts. It also ends with the process. Raises StoreError."""
        needed = sorted(keys)
        path = self._folder / f"{run_id}.json"
        with keeping("the lease of this run", self._folder):
            self._folder.mkdir(exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text(json.dumps({"process": self._writers.own_name, "keys": needed}), encoding="utf-8")
            unfinished.chmod(shared_mode(self._folder))
            unfinished.replace(path)
        try:
            with self._remote.needing(run_id, needed):
                yield
        finally:
            with suppress(OSError):  # the store was deleted, or the lease ends with this process
                path.unlink()
                self._writers.clear_away()

    def of_live_runs(self) -> Leased:
        """Return the current leases of live runs. Removes leases of dead runs if this process may write."""
        keys: set[str] = set()
        n_runs = 0
        for path in sorted(self._folder.glob("*.json")):
            with suppress(FileNotFoundError):  # the run has just ended
                process, needed = needed_by(path.read_bytes())
                if not process or self._writers.is_gone(process):
                    if self._writers.may_write:
                        path.unlink()
                else:
                    keys.update(needed)
                    n_runs += 1
        return Leased(n_runs, frozenset(keys))


def needed_by(run: bytes) -> tuple[str, frozenset[str]]:
    """Return the process and the keys in a lease file. "" and no keys for a file that a power cut damaged."""
    try:
        record = json.loads(run)
        return str(record["process"]), frozenset(map(str, record["keys"]))
    except (ValueError, KeyError, TypeError):
        return "", frozenset()
