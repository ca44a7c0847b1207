"""What running sweeps need of a store, so that nobody removes it under their feet.

<root>/runs/<run id>.json   the keys of the stages of one run
<root>/runs/<run id>.lock   held by it; the system releases it when the run dies, however that happens
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from runner.engine.store.locks import shared_mode


@dataclass(frozen=True)
class Leased:
    """How many runs are under way, and the keys of all results that they need."""

    n_runs: int
    keys: frozenset[str]


class Leases:
    """Those of one store."""

    def __init__(self, folder: Path) -> None:
        """The folder is made with the first lease."""
        self._folder = folder

    @contextmanager
    def take(self, run_id: str, keys: Iterable[str]) -> Iterator[None]:
        """Says that a run needs these results while the context lasts."""
        self._folder.mkdir(exist_ok=True)
        with self._lock(run_id):
            unfinished = self._folder / f"{run_id}.unfinished"
            unfinished.write_text(json.dumps(sorted(keys)), encoding="utf-8")
            unfinished.replace(self._needs(run_id))
            try:
                yield
            finally:
                self._needs(run_id).unlink(missing_ok=True)

    def of_live_runs(self) -> Leased:
        """Those of this moment; what dead runs left is removed."""
        keys: set[str] = set()
        n_runs = 0
        for needs in sorted(self._folder.glob("*.json")):
            try:
                with self._lock(needs.stem).acquire(timeout=0):
                    needs.unlink(missing_ok=True)
            except Timeout:
                with suppress(FileNotFoundError):  # it ends at this moment
                    keys.update(json.loads(needs.read_text(encoding="utf-8")))
                    n_runs += 1
        return Leased(n_runs, frozenset(keys))

    def _needs(self, run_id: str) -> Path:
        return self._folder / f"{run_id}.json"

    def _lock(self, run_id: str) -> FileLock:
        return FileLock(self._folder / f"{run_id}.lock", mode=shared_mode(self._folder))
