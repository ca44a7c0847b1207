"""The results in a bucket, of which the folder of a store is a cache."""

import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from components.errors import StoreError
from runner.engine.store.bucket.bucket_locks import held
from runner.engine.store.bucket.bucket_writers import BucketWriters, host_of
from runner.engine.store.bucket.mirrors import SentBlocks, SentReplies
from runner.engine.store.bucket.objects import PATIENCE_S, Listed, Objects
from runner.engine.store.bucket.packing import files_of, large_files, pack, packed_files, unpack
from runner.engine.store.bucket.paths import (
    ENTRIES,
    PAIR_SCORES,
    PARTIAL,
    REPLIES,
    RUNS,
    entry_path,
    part_path,
    result_at,
)
from runner.engine.store.manifests import MANIFEST, Files
from runner.engine.store.mirror import Mirror
from runner.engine.store.writers import LEASE_S, Writers

log = logging.getLogger(__name__)

_TAG = ".tag"
"""Beside a cached result: the tag of the object that it was, or became."""

_ABSENT_S = 5.0
"""So long nobody asks again for a result that was not there: at most so much work may be done twice."""

_LOOKED_EVERY_S = 2.0


class BucketRemote:
    """Those of one bucket, as one process sees them."""

    def __init__(self, address: str, cache: Path, *, lease_s: float = LEASE_S, patience_s: float = PATIENCE_S) -> None:
        """`cache` is the folder of the store. All who share a bucket must have the same `lease_s`. Asks nothing yet.
        Raises MissingExtraError, or StoreError.
        """
        self._arguments = address, cache, lease_s, patience_s
        self._cache = cache
        self._objects = Objects(address, patience_s)
        self._writers = BucketWriters(self._objects, Writers(cache / "writers"), host_of(cache), lease_s)
        self._listed: dict[str, Listed] | None = None
        self._listed_at = 0.0
        self._asked_for_all = float("-inf")
        self._absent: dict[str, float] = {}
        self._damaged: dict[str, str] = {}
        self._partial: frozenset[str] = frozenset()
        self._looked_for_partial = float("-inf")
        self._mirrors: dict[Path, Mirror] = {}

    def __reduce__(self) -> tuple[Callable[..., "BucketRemote"], tuple[str, Path, float, float]]:
        """As what it was made of. Credentials are not among it: they are those of the environment there."""
        return _remote, self._arguments

    def holds(self, kind: str, name: str) -> bool:
        path = entry_path(kind, name)
        return path in self._listing() or self.is_current(self._cache / path)

    def _listing(self) -> dict[str, Listed]:
        """One request per thousand results, in the place of one per result that a plan asks for."""
        if self._listed is None:
            self._listed_at = time.time()
            self._asked_for_all = time.monotonic()
            self._listed = {each.path: each for each in self._objects.listed(ENTRIES)}
        return self._listed

    def results(self, kind: str) -> Iterable[tuple[str, str]]:
        for each in self._objects.listed(f"{ENTRIES}/{kind}".rstrip("/")):
            if found := result_at(each.path):
                yield found

    def is_current(self, folder: Path) -> bool:
        try:
            tag = (folder / _TAG).read_text(encoding="utf-8")
            kept_at = (folder / _TAG).stat().st_mtime
        except FileNotFoundError:
            return False
        if self._listed is None or kept_at >= self._listed_at:
            return True
        listed = self._listed.get(entry_path(folder.parents[1].name, folder.name))
        return listed is not None and listed.tag == tag

    def fetch(self, kind: str, name: str, folder: Path) -> bool:
        path = entry_path(kind, name)
        if self._is_known_absent(path):
            return self._published_now(kind, name, folder)
        found = self._objects.get(path)
        if found is None:
            self._absent[path] = time.monotonic()
            return self._published_now(kind, name, folder)
        unpacked = unpack(found.contents)
        if unpacked is None:
            if self._damaged.get(path) != found.tag:  # told once, however often it is looked for
                log.warning("%s/%s: damaged; made again by the stage that needs it", self._objects.address, path)
            self._damaged[path] = found.tag
            return False
        manifest, files = unpacked
        folder.mkdir()
        for file, contents in files.items():
            (folder / file).write_bytes(contents)
        (folder / MANIFEST).write_bytes(manifest)
        (folder / _TAG).write_text(found.tag, encoding="utf-8")
        return True

    def _is_known_absent(self, path: str) -> bool:
        now = time.monotonic()
        if path.startswith(PARTIAL):
            if now - self._looked_for_partial > _LOOKED_EVERY_S:
                self._looked_for_partial = now
                run = path.split("/")[1]
                self._partial = frozenset(each.path for each in self._objects.listed(f"{PARTIAL}/{run}"))
            return path not in self._partial
        if self._listed is not None and path not in self._listed and now - self._asked_for_all < _ABSENT_S:
            return True
        return now - self._absent.get(path, float("-inf")) < _ABSENT_S

    def is_elsewhere(self, files: Files, file: str) -> bool:
        return file in large_files(files)

    def bring(self, folder: Path, files: Files, file: str) -> bool:
        kind, name = folder.parents[1].name, folder.name
        digest, n_bytes = files[file]
        unfinished = folder / f".{uuid.uuid4().hex}"
        try:
            if file in packed_files(files):
                found = self._objects.get(entry_path(kind, name))
                unpacked = unpack(found.contents) if found else None
                if unpacked is None or file not in unpacked[1]:
                    return False
                unfinished.write_bytes(unpacked[1][file])
            elif not self._objects.download(part_path(kind, name, digest), n_bytes, unfinished):
                return False
            unfinished.replace(folder / file)
        finally:
            unfinished.unlink(missing_ok=True)
        return True

    def publish(self, kind: str, name: str, folder: Path) -> bool:
        try:
            tag = self._published(kind, name, folder)
        except StoreError:
            self._set_aside(kind, name, folder)
            raise
        self._absent.pop(entry_path(kind, name), None)
        if tag is None:
            return False
        (folder / _TAG).write_text(tag, encoding="utf-8")
        return True

    def _published(self, kind: str, name: str, folder: Path) -> str | None:
        """The tag under which a result stays, or None. What models answered on the way comes first."""
        for mirror in list(self._mirrors.values()):
            mirror.send_now()
        manifest = (folder / MANIFEST).read_bytes()
        files = files_of(manifest) or {}
        large = {part_path(kind, name, files[file][0]): file for file in large_files(files)}
        for path, file in large.items():
            self._objects.upload(path, folder / file)
        packed = pack(manifest, files, folder)
        path = entry_path(kind, name)
        damaged = self._damaged.pop(path, None)
        while True:
            tag = self._objects.replace(path, packed, damaged) if damaged else self._objects.create(path, packed)
            if tag is not None:
                return tag
            first = self._objects.get(path)
            if first is None:  # removed in this moment
                damaged = None
                continue
            if first.contents == packed:  # ours, of which the answer was lost
                return first.tag
            if (unpacked := unpack(first.contents)) is not None:
                kept = {part_path(kind, name, digest) for digest, _ in (files_of(unpacked[0]) or {}).values()}
                self._objects.delete([path for path in large if path not in kept])
                return None
            damaged = first.tag

    def _set_aside(self, kind: str, name: str, folder: Path) -> None:
        """What could not be sent is not computed again: the next who looks for it sends it."""
        place = self._aside(kind, name)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            folder.replace(place)

    def _published_now(self, kind: str, name: str, folder: Path) -> bool:
        """What was set aside is sent, and put into the folder."""
        place = self._aside(kind, name)
        try:
            place.replace(folder)
        except FileNotFoundError:
            return False
        return self.publish(kind, name, folder)

    def _aside(self, kind: str, name: str) -> Path:
        return self._cache / "unsent" / kind / name

    def give_up(self, folder: Path) -> None:
        path = entry_path(folder.parents[1].name, folder.name)
        try:
            self._damaged[path] = (folder / _TAG).read_text(encoding="utf-8")
        except FileNotFoundError:
            if listed := self._objects.head(path):
                self._damaged[path] = listed.tag

    @contextmanager
    def lock(self, key: str, what: str) -> Iterator[bool]:
        with held(self._objects, self._writers, key, what) as has_waited:
            if has_waited:
                self._absent.clear()
                self._asked_for_all = float("-inf")
            yield has_waited

    @contextmanager
    def needing(self, run_id: str, keys: Iterable[str]) -> Iterator[None]:
        path = f"{RUNS}/{run_id}"
        self._objects.put(path, json.dumps({"process": self._writers.own_name, "keys": sorted(keys)}).encode())
        try:
            yield
        finally:
            with suppress(StoreError):  # of a bucket that is gone; else it ends with this process
                self._objects.delete([path, *self._writers.ended_here()])

    def of_replies(self, folder: Path) -> Mirror:
        if folder not in self._mirrors:
            prefix = f"{REPLIES}/{folder.name}"
            self._mirrors[folder] = SentReplies(self._objects, self._writers, folder, prefix)
        return self._mirrors[folder]

    def of_pair_scores(self, folder: Path) -> Mirror:
        if folder not in self._mirrors:
            prefix = f"{PAIR_SCORES}/{folder.name}"
            self._mirrors[folder] = SentBlocks(self._objects, self._writers, folder, prefix)
        return self._mirrors[folder]


def _remote(address: str, cache: Path, lease_s: float, patience_s: float) -> BucketRemote:
    return BucketRemote(address, cache, lease_s=lease_s, patience_s=patience_s)
