"""Looks after the store in a bucket: what is kept there, what of it is damaged, and what may go.

Ages are by the service's clock, and so is who lives: nobody is waited for.
"""

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from runner.engine.store.bucket.merging import merge, mergeable
from runner.engine.store.bucket.objects import Listed, Objects
from runner.engine.store.bucket.packing import files_of, large_files, unpack
from runner.engine.store.bucket.paths import (
    ENTRIES,
    LOCKS,
    PAIR_SCORES,
    PARTIAL,
    PARTS,
    REPLIES,
    RUNS,
    WRITERS,
    part_path,
    result_at,
    result_of_part,
)
from runner.engine.store.leases import Leased, needed_by
from runner.engine.store.manifests import NOT_A_MANIFEST
from runner.engine.store.writers import LEASE_S

_LEFT_AFTER = timedelta(days=1)
_N_FOLDERS_OF_REPLIES = 3
_LIVES_FOR = timedelta(seconds=3 * LEASE_S)


@dataclass(frozen=True)
class Kept:
    """A result. `n_bytes` are those of its object and of its large files, `large` the paths of these."""

    kind: str
    name: str
    path: str
    n_bytes: int
    modified: datetime
    large: tuple[str, ...]

    @property
    def key(self) -> str:
        """That of its stage."""
        return self.name.partition("-")[0]

    @property
    def is_partial(self) -> bool:
        """Whether it has failed requests, or is built on such a one."""
        return self.name != self.key


class Upkeep:
    """Of one bucket. All methods may raise StoreError."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    @cached_property
    def now(self) -> datetime:
        """By the service's clock, which is told by an object that is put for that."""
        path = f"{WRITERS}/clock-{uuid.uuid4().hex}"
        self._objects.put(path, b"")
        put = self._objects.head(path)
        self._objects.delete([path])
        assert put is not None, "it was there"
        return put.modified

    def results(self) -> list[Kept]:
        """All of them, by kind and name."""
        large: dict[str, list[Listed]] = {}
        for part in self._objects.listed(PARTS):
            if (name := result_of_part(part.path)) is not None:
                large.setdefault(name, []).append(part)
        kept = []
        for each in [*self._objects.listed(ENTRIES), *self._objects.listed(PARTIAL)]:
            if (found := result_at(each.path)) is None:
                continue
            kind, name = found
            parts = large.get(name, [])
            n_bytes = each.n_bytes + sum(part.n_bytes for part in parts)
            kept.append(Kept(kind, name, each.path, n_bytes, each.modified, tuple(part.path for part in parts)))
        return sorted(kept, key=lambda each: (each.kind, each.name))

    def seconds(self, results: Iterable[Kept]) -> list[float]:
        """How long each took to compute; 0 for a damaged one."""
        return list(self._objects.at_once(self._seconds_of, results))

    def _seconds_of(self, kept: Kept) -> float:
        found = self._objects.get(kept.path)
        unpacked = unpack(found.contents) if found else None
        try:
            return float(json.loads(unpacked[0])["seconds"]) if unpacked else 0.0
        except NOT_A_MANIFEST:
            return 0.0

    def damages(self, results: Iterable[Kept]) -> list[str]:
        """What is wrong with each, "" for nothing: all contents are compared with their checksums."""
        return list(self._objects.at_once(self._damage_of, results))

    def _damage_of(self, kept: Kept) -> str:
        found = self._objects.get(kept.path)
        if found is None:  # pruned in this moment
            return ""
        unpacked = unpack(found.contents)
        if unpacked is None:
            return "it is cut off, or does not match its checksums"
        manifest = json.loads(unpacked[0])
        if (manifest.get("kind"), manifest.get("key")) != (kept.kind, kept.key):
            return "it is another result"
        files = files_of(unpacked[0]) or {}
        wrong = [name for name in large_files(files) if not self._is_sound(kept, *files[name])]
        return "; ".join(f"{name} is missing, or does not match its checksum" for name in wrong)

    def _is_sound(self, kept: Kept, digest: str, n_bytes: int) -> bool:
        found, n_found = hashlib.sha256(), 0
        for piece in self._objects.pieces(part_path(kept.kind, kept.name, digest), n_bytes):
            found.update(piece)
            n_found += len(piece)
        return (found.hexdigest(), n_found) == (digest, n_bytes)

    def leased(self) -> Leased:
        """What the runs need that are under way."""
        keys: set[str] = set()
        n_runs = 0
        for run in self._objects.at_once(lambda each: self._objects.get(each.path), self._objects.listed(RUNS)):
            if run is not None:  # else it ended in this moment
                process, needed = needed_by(run.contents)
                if process in self._living:
                    keys.update(needed)
                    n_runs += 1
        return Leased(n_runs, frozenset(keys))

    @cached_property
    def _living(self) -> frozenset[str]:
        since = self.now - _LIVES_FOR - timedelta(seconds=1)  # the service tells whole seconds
        return frozenset(_last(each) for each in self._objects.listed(WRITERS) if each.modified >= since)

    def left(self, results: Sequence[Kept]) -> list[Listed]:
        """What killed processes left a day ago or longer: locks, signs of life, what they needed, and large files of
        results that they did not come to write.
        """
        named = {path for each in results for path in each.large}
        left = [
            *self._objects.listed(LOCKS),
            *(each for each in self._objects.listed(WRITERS) if _last(each) not in self._living),
            *self._objects.listed(RUNS),
            *(each for each in self._objects.listed(PARTS) if each.path not in named),
        ]
        return [each for each in left if each.modified < self.now - _LEFT_AFTER]

    def replies(self) -> list[Listed]:
        """The objects that hold what models answered."""
        return [each for each in self._objects.listed(REPLIES) if each.path.count("/") == _N_FOLDERS_OF_REPLIES]

    def mergeable_replies(self) -> list[tuple[str, list[Listed]]]:
        """Those of processes that have ended, as folders and what is worth being merged there into one object each."""
        living = {name.partition("-")[2] for name in self._living}
        of_folder: dict[str, list[Listed]] = defaultdict(list)
        for each in self.replies():
            folder, writer, _ = each.path.rsplit("/", 2)
            if writer not in living:
                of_folder[folder].append(each)
        return [(folder, group) for folder, listed in of_folder.items() for group in mergeable(listed)]

    def merge(self, groups: Iterable[tuple[str, list[Listed]]]) -> None:
        """Puts what they hold into one object each. Nothing is lost that somebody adds at the same time."""
        for folder, group in groups:
            merge(self._objects, folder, group)

    def pair_scores(self) -> list[Listed]:
        """The objects that hold scores of pairs."""
        return self._objects.listed(PAIR_SCORES)

    def remove(self, results: Iterable[Kept], others: Iterable[Listed] = ()) -> None:
        """Results before their large files: whoever reads one in between finds it damaged, and makes it again."""
        results = list(results)
        self._objects.delete([each.path for each in results])
        self._objects.delete([*(path for each in results for path in each.large), *(each.path for each in others)])


def _last(listed: Listed) -> str:
    return listed.path.rpartition("/")[2]
