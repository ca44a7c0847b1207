"""Results in a bucket, for which the folder of a store is the cache."""

import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from components.errors import StoreError
from runner.engine.store.bucket.bucket_locks import hold_bucket_lock
from runner.engine.store.bucket.bucket_writers import BucketWriters, get_or_create_host_id
from runner.engine.store.bucket.mirrors import BlockMirror, ReplyMirror
from runner.engine.store.bucket.objects import PATIENCE_S, ObjectInfo, Objects
from runner.engine.store.bucket.packing import large_files, pack, packed_files, read_file_names, unpack
from runner.engine.store.bucket.paths import (
    ENTRIES,
    PAIR_SCORES,
    PARTIAL,
    REPLIES,
    RUNS,
    entry_path,
    parse_path,
    part_path,
)
from runner.engine.store.held_locks import HeldLock
from runner.engine.store.manifests import MANIFEST, Files
from runner.engine.store.remote import Mirror
from runner.engine.store.writers import LEASE_S, Writers

log = logging.getLogger(__name__)

_TAG = ".tag"
"""File in a cached result's folder with the tag of its object in the bucket."""

_ABSENT_S = 5.0
"""Seconds before a missing result is looked up again. Two hosts may therefore repeat the work of this time, but no paid
requests.
"""

_LOOK_EVERY_S = 2.0


class BucketRemote:
    """Results of one bucket, as one process sees them."""

    def __init__(self, address: str, cache: Path, *, lease_s: float = LEASE_S, patience_s: float = PATIENCE_S) -> None:
        """`cache` is the folder of the store. All users of a bucket must have the same `lease_s`. Sends no request yet.

        Raises MissingExtraError without obstore, and StoreError for an unusable address or cache.
        """
        self._arguments = address, cache, lease_s, patience_s
        self._cache = cache
        self._objects = Objects(address, patience_s)
        self._writers = BucketWriters(self._objects, Writers(cache / "writers"), get_or_create_host_id(cache), lease_s)
        self._entries_by_path: dict[str, ObjectInfo] | None = None
        self._listed_at = 0.0
        self._asked_for_all = float("-inf")
        self._absent: dict[str, float] = {}
        self._damaged: dict[str, str] = {}
        self._partial: frozenset[str] = frozenset()
        self._looked_for_partial = float("-inf")
        self._mirrors: dict[Path, ReplyMirror | BlockMirror] = {}

    def __reduce__(self) -> tuple[Callable[..., "BucketRemote"], tuple[str, Path, float, float]]:
        """Pickle the constructor arguments. They contain no credentials, which the environment of the other process
        provides.
        """
        return _remote, self._arguments

    def holds(self, kind: str, name: str) -> bool:
        path = entry_path(kind, name)
        return path in self._listing() or self.is_current(self._cache / path)

    def _listing(self) -> dict[str, ObjectInfo]:
        """Return all results, listed with one request per thousand. Otherwise a plan would send one request per
        result.
        """
        if self._entries_by_path is None:
            self._listed_at = time.time()
            self._asked_for_all = time.monotonic()
            self._entries_by_path = {each.path: each for each in self._objects.list_objects(ENTRIES)}
        return self._entries_by_path

    def results(self, kind: str) -> Iterable[tuple[str, str]]:
        for each in self._objects.list_objects(f"{ENTRIES}/{kind}".rstrip("/")):
            if result := parse_path(each.path):
                yield result

    def is_current(self, folder: Path) -> bool:
        try:
            tag = (folder / _TAG).read_text(encoding="utf-8")
            cached_at = (folder / _TAG).stat().st_mtime
        except FileNotFoundError:
            return False
        if self._entries_by_path is None or cached_at >= self._listed_at:
            return True
        entry = self._entries_by_path.get(entry_path(folder.parents[1].name, folder.name))
        return entry is not None and entry.tag == tag

    def fetch(self, kind: str, name: str, folder: Path) -> bool:
        path = entry_path(kind, name)
        if self._is_known_absent(path):
            return self._publish_unsent(kind, name, folder)
        entry = self._objects.get(path)
        if entry is None:
            self._absent[path] = time.monotonic()
            return self._publish_unsent(kind, name, folder)
        unpacked = unpack(entry.contents)
        if unpacked is None:
            if self._damaged.get(path) != entry.tag:  # logged once per object
                log.warning("%s/%s is damaged; the result is computed again when needed", self._objects.address, path)
            self._damaged[path] = entry.tag
            return False
        manifest, files = unpacked
        folder.mkdir()
        for file, contents in files.items():
            (folder / file).write_bytes(contents)
        (folder / MANIFEST).write_bytes(manifest)
        (folder / _TAG).write_text(entry.tag, encoding="utf-8")
        return True

    def _is_known_absent(self, path: str) -> bool:
        now = time.monotonic()
        if path.startswith(PARTIAL):
            if now - self._looked_for_partial > _LOOK_EVERY_S:
                self._looked_for_partial = now
                run = path.split("/")[1]
                self._partial = frozenset(each.path for each in self._objects.list_objects(f"{PARTIAL}/{run}"))
            return path not in self._partial
        if (
            self._entries_by_path is not None
            and path not in self._entries_by_path
            and now - self._asked_for_all < _ABSENT_S
        ):
            return True
        return now - self._absent.get(path, float("-inf")) < _ABSENT_S

    def is_elsewhere(self, files: Files, file: str) -> bool:
        return file in large_files(files)

    def download(self, folder: Path, files: Files, file: str) -> bool:
        kind, name = folder.parents[1].name, folder.name
        digest, n_bytes = files[file]
        unfinished = folder / f".{uuid.uuid4().hex}"
        try:
            if file in packed_files(files):
                entry = self._objects.get(entry_path(kind, name))
                unpacked = unpack(entry.contents) if entry else None
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
            tag = self._upload(kind, name, folder)
        except StoreError:
            self._set_aside(kind, name, folder)
            raise
        self._absent.pop(entry_path(kind, name), None)
        if tag is None:
            return False
        (folder / _TAG).write_text(tag, encoding="utf-8")
        return True

    def _upload(self, kind: str, name: str, folder: Path) -> str | None:
        """Upload a result and return its tag. None if another process was first. Sends replies of models before it."""
        self._send_mirrors()
        manifest = (folder / MANIFEST).read_bytes()
        files = read_file_names(manifest) or {}
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
            if first is None:  # another host has just removed the object
                damaged = None
                continue
            if first.contents == packed:  # we wrote this object, and the response was lost
                return first.tag
            if (unpacked := unpack(first.contents)) is not None:
                in_use = {part_path(kind, name, digest) for digest, _ in (read_file_names(unpacked[0]) or {}).values()}
                self._objects.delete([path for path in large if path not in in_use])
                return None
            damaged = first.tag

    def _send_mirrors(self) -> None:
        for mirror in list(self._mirrors.values()):
            mirror.send_now()

    def _set_aside(self, kind: str, name: str, folder: Path) -> None:
        """Keep a result that could not be sent. The next process that needs it sends it instead of computing it."""
        path = self._unsent_path(kind, name)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            folder.replace(path)

    def _publish_unsent(self, kind: str, name: str, folder: Path) -> bool:
        """Send a result that was set aside, and put it into the folder. Returns False if it does not exist."""
        path = self._unsent_path(kind, name)
        try:
            path.replace(folder)
        except FileNotFoundError:
            return False
        return self.publish(kind, name, folder)

    def _unsent_path(self, kind: str, name: str) -> Path:
        return self._cache / "unsent" / kind / name

    def mark_damaged(self, folder: Path) -> None:
        path = entry_path(folder.parents[1].name, folder.name)
        try:
            self._damaged[path] = (folder / _TAG).read_text(encoding="utf-8")
        except FileNotFoundError:
            if entry := self._objects.head(path):
                self._damaged[path] = entry.tag

    @contextmanager
    def lock(self, key: str, what: str, *, is_paid: bool = False) -> Iterator[HeldLock]:
        with hold_bucket_lock(self._objects, self._writers, key, what) as lock:
            if lock.had_holder or is_paid:  # another host may have held and released the lock since the last check
                self._absent.clear()
                self._asked_for_all = float("-inf")
            if not is_paid:
                yield lock
                return
            for mirror in list(self._mirrors.values()):
                mirror.expire_listing()
            try:
                yield lock
            finally:  # the next holder must find what was paid for, even if the stage failed
                with suppress(StoreError):
                    self._send_mirrors()

    def lease(self, run_id: str, keys: Sequence[str] | None) -> None:
        lease = {"process": self._writers.own_name, "keys": keys}
        self._objects.put(f"{RUNS}/{run_id}", json.dumps(lease).encode())

    def release(self, run_id: str) -> None:
        with suppress(StoreError):  # the bucket is unavailable, or the lease ends with this process
            self._objects.delete([f"{RUNS}/{run_id}", *self._writers.list_dead_heartbeats()])

    def reply_mirror(self, folder: Path) -> Mirror:
        if folder not in self._mirrors:
            prefix = f"{REPLIES}/{folder.name}"
            self._mirrors[folder] = ReplyMirror(self._objects, self._writers, folder, prefix)
        return self._mirrors[folder]

    def pair_score_mirror(self, folder: Path) -> Mirror:
        if folder not in self._mirrors:
            prefix = f"{PAIR_SCORES}/{folder.name}"
            self._mirrors[folder] = BlockMirror(self._objects, self._writers, folder, prefix)
        return self._mirrors[folder]


def _remote(address: str, cache: Path, lease_s: float, patience_s: float) -> BucketRemote:
    return BucketRemote(address, cache, lease_s=lease_s, patience_s=patience_s)
