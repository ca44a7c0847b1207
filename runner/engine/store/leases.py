"""What running sweeps need of a store, so that nobody removes it under their feet.

<root>/runs/<run id>.json   the process that runs it, and the keys of its stages; of no meaning once that is gone
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
    """How many runs are under way, and the keys of all results that they need."""

    n_runs: int
    keys: frozenset[str]


class Leases:
    """Those of one store."""

    def __init__(self, folder: Path, writers: Writers, remote: Remote = NO_REMOTE) -> None:
        """The folder is made with the first lease."""
        self._folder = folder
        self._writers = writers
        self._remote = remote

    @contextmanager
    def take(self, run_id: str, keys: Iterable[str]) -> Iterator[None]:
        """Says that a run needs these results while the context lasts, or its process. Raises StoreError."""
        needed = sorted(keys)
        path = self._folder / f"{run_id}.json"
        with keeping("what this run needs", self._folder):
            self._folder.mkdir(exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text(json.dumps({"process": self._writers.own_name, "keys": needed}), encoding="utf-8")
            unfinished.chmod(shared_mode(self._folder))
            unfinished.replace(path)
        try:
            with self._remote.needing(run_id, needed):
                yield
        finally:
            with suppress(OSError):  # of a store that went away; else it ends with this process
                path.unlink()
                self._writers.clear_away()

    def of_live_runs(self) -> Leased:
        """Those of this moment; what dead runs left is removed, if this process may write."""
        keys: set[str] = set()
        n_runs = 0
        for path in sorted(self._folder.glob("*.json")):
            with suppress(FileNotFoundError):  # it ends at this moment
                process, needed = needed_by(path.read_bytes())
                if not process or self._writers.is_gone(process):
                    if self._writers.may_write:
                        path.unlink()
                else:
                    keys.update(needed)
                    n_runs += 1
        return Leased(n_runs, frozenset(keys))


def needed_by(run: bytes) -> tuple[str, frozenset[str]]:
    """The process that a run says it is, and the keys of what it needs; "" and none for what a power cut left of it."""
    try:
        said = json.loads(run)
        return str(said["process"]), frozenset(map(str, said["keys"]))
    except (ValueError, KeyError, TypeError):
        return "", frozenset()
