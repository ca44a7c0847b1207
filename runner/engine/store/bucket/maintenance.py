"""Maintenance of a store in a bucket: results, damage, and objects that can be removed.

Ages and heartbeats are judged by the service's clock, so nothing has to wait.
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
from runner.engine.store.bucket.objects import ObjectInfo, Objects
from runner.engine.store.bucket.packing import large_files, read_file_names, unpack
from runner.engine.store.bucket.paths import (
    ENTRIES,
    LOCKS,
    PAIR_SCORES,
    PARTIAL,
    PARTS,
    REPLIES,
    RUNS,
    WRITERS,
    parse_path,
    part_path,
    result_of_part,
)
from runner.engine.store.leases import LeasedResults, join_leases, read_lease
from runner.engine.store.manifests import MANIFEST_ERRORS
from runner.engine.store.replies import count_damaged
from runner.engine.store.writers import LEASE_S

_LEFT_AFTER = timedelta(days=1)
_N_FOLDERS_OF_REPLIES = 3
_PRESUMED_DEAD_AFTER = timedelta(seconds=3 * LEASE_S)


@dataclass(frozen=True)
class BucketResult:
    """A result in the bucket.

    `n_bytes` covers its object and its large files. `large` holds the paths of the large files.
    """

    kind: str
    name: str
    path: str
    n_bytes: int
    modified: datetime
    large: tuple[str, ...]

    @property
    def key(self) -> str:
        """Key of the stage, without the run that `name` adds for a partial result."""
        return self.name.partition("-")[0]

    @property
    def is_partial(self) -> bool:
        """True if the result has failed requests or was computed from a result that has."""
        return self.name != self.key


class BucketMaintenance:
    """Lists, checks and removes the contents of one bucket. All methods may raise StoreError."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    @cached_property
    def now(self) -> datetime:
        """Current time by the service's clock, read from an object written for this purpose."""
        path = f"{WRITERS}/clock-{uuid.uuid4().hex}"
        self._objects.put(path, b"")
        put = self._objects.head(path)
        self._objects.delete([path])
        assert put is not None, "the object was just written"
        return put.modified

    def results(self) -> list[BucketResult]:
        """Return all results, sorted by kind and name."""
        large: dict[str, list[ObjectInfo]] = {}
        for part in self._objects.list_objects(PARTS):
            if (name := result_of_part(part.path)) is not None:
                large.setdefault(name, []).append(part)
        results = []
        for each in [*self._objects.list_objects(ENTRIES), *self._objects.list_objects(PARTIAL)]:
            if (kind_and_name := parse_path(each.path)) is None:
                continue
            kind, name = kind_and_name
            parts = large.get(name, [])
            n_bytes = each.n_bytes + sum(part.n_bytes for part in parts)
            results.append(
                BucketResult(kind, name, each.path, n_bytes, each.modified, tuple(part.path for part in parts))
            )
        return sorted(results, key=lambda each: (each.kind, each.name))

    def seconds(self, results: Iterable[BucketResult]) -> list[float]:
        """Return the seconds that each result took to compute. 0 for a damaged one."""
        return list(self._objects.read_concurrently(self._read_seconds, results))

    def _read_seconds(self, result: BucketResult) -> float:
        entry = self._objects.get(result.path)
        unpacked = unpack(entry.contents) if entry else None
        try:
            return float(json.loads(unpacked[0])["seconds"]) if unpacked else 0.0
        except MANIFEST_ERRORS:
            return 0.0

    def damages(self, results: Iterable[BucketResult]) -> list[str]:
        """Compare all contents with their checksums. Returns the damage of each result; "" if it is intact."""
        return list(self._objects.read_concurrently(self._find_damage, results))

    def _find_damage(self, result: BucketResult) -> str:
        entry = self._objects.get(result.path)
        if entry is None:  # another process has just pruned the result
            return ""
        unpacked = unpack(entry.contents)
        if unpacked is None:
            return "incomplete, or does not match its checksums"
        manifest = json.loads(unpacked[0])
        if (manifest.get("kind"), manifest.get("key")) != (result.kind, result.key):
            return "contains another result"
        files = read_file_names(unpacked[0]) or {}
        damaged = [name for name in large_files(files) if not self._is_intact(result, *files[name])]
        return "; ".join(f"{name} is missing, or does not match its checksum" for name in damaged)

    def _is_intact(self, result: BucketResult, digest: str, n_bytes: int) -> bool:
        checksum, n_read = hashlib.sha256(), 0
        for piece in self._objects.pieces(part_path(result.kind, result.name, digest), n_bytes):
            checksum.update(piece)
            n_read += len(piece)
        return (checksum.hexdigest(), n_read) == (digest, n_bytes)

    def list_leased(self) -> LeasedResults:
        """Return the results that running sweeps need."""
        needs = []
        for run in self._objects.read_concurrently(
            lambda each: self._objects.get(each.path), self._objects.list_objects(RUNS)
        ):
            if run is not None:  # a missing lease belongs to a run that has just ended
                process, needed = read_lease(run.contents)
                if process in self._live_writers:
                    needs.append(needed)
        return join_leases(needs)

    @cached_property
    def _live_writers(self) -> frozenset[str]:
        since = self.now - _PRESUMED_DEAD_AFTER - timedelta(seconds=1)  # the service reports whole seconds
        return frozenset(_base_name(each) for each in self._objects.list_objects(WRITERS) if each.modified >= since)

    def leftovers(self, results: Sequence[BucketResult]) -> list[ObjectInfo]:
        """Return objects that killed processes left at least a day ago.

        These are locks, heartbeats, leases, and large files of results that were never completed.
        """
        named = {path for each in results for path in each.large}
        leftovers = [
            *self._objects.list_objects(LOCKS),
            *(each for each in self._objects.list_objects(WRITERS) if _base_name(each) not in self._live_writers),
            *self._objects.list_objects(RUNS),
            *(each for each in self._objects.list_objects(PARTS) if each.path not in named),
        ]
        return [each for each in leftovers if each.modified < self.now - _LEFT_AFTER]

    def replies(self) -> list[ObjectInfo]:
        """Return the objects with replies of models."""
        return [each for each in self._objects.list_objects(REPLIES) if each.path.count("/") == _N_FOLDERS_OF_REPLIES]

    def damaged_replies(self) -> dict[ObjectInfo, int]:
        """Return the objects of replies with damaged or incomplete lines, with the numbers of these lines."""
        listed = self.replies()
        read = self._objects.read_concurrently(lambda each: self._objects.get(each.path), listed)
        counts = (count_damaged(found.contents.splitlines(keepends=True)) if found else 0 for found in read)
        return {each: n_lines for each, n_lines in zip(listed, counts, strict=True) if n_lines}

    def drop_damaged(self, replies: Iterable[ObjectInfo]) -> None:
        """Write objects of replies again without their damaged lines."""
        self.merge([(each.path.rsplit("/", 2)[0], [each]) for each in replies])

    def mergeable_replies(self) -> list[tuple[str, list[ObjectInfo]]]:
        """Return groups of objects with replies of ended processes. Each group becomes one object in its folder."""
        living = {name.partition("-")[2] for name in self._live_writers}
        objects_by_folder: dict[str, list[ObjectInfo]] = defaultdict(list)
        for each in self.replies():
            folder, writer, _ = each.path.rsplit("/", 2)
            if writer not in living:
                objects_by_folder[folder].append(each)
        return [(folder, group) for folder, listed in objects_by_folder.items() for group in mergeable(listed)]

    def merge(self, groups: Iterable[tuple[str, list[ObjectInfo]]]) -> None:
        """Merge each group into one object. Replies added at the same time are not lost."""
        for folder, group in groups:
            merge(self._objects, folder, group)

    def pair_scores(self) -> list[ObjectInfo]:
        """Return the objects with scores of pairs."""
        return self._objects.list_objects(PAIR_SCORES)

    def damaged_pair_scores(self) -> list[ObjectInfo]:
        """Return the objects with scores of pairs that do not match the checksum in their name."""
        listed = [each for each in self.pair_scores() if _base_name(each).count(".") > 1]  # others are foreign
        found = self._objects.read_concurrently(lambda each: self._objects.get(each.path), listed)
        return [
            each
            for each, stored in zip(listed, found, strict=True)
            if stored and hashlib.sha256(stored.contents).hexdigest() != _base_name(each).split(".")[-2]
        ]

    def remove(self, results: Iterable[BucketResult], leftovers: Iterable[ObjectInfo] = ()) -> None:
        """Remove results and then their large files. A process that reads in between finds damage and computes the
        result again.
        """
        results = list(results)
        self._objects.delete([each.path for each in results])
        self._objects.delete([*(path for each in results for path in each.large), *(each.path for each in leftovers)])


def _base_name(listed: ObjectInfo) -> str:
    return listed.path.rpartition("/")[2]
