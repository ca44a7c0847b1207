"""Replies of models and scores of pairs in a bucket. They are stored before their stage ends.

    replies/<key>/<writer>/<n>      about a MiB of replies of one process; rewritten until it is full
    replies/<key>/merged-*/<n>      contents of many such objects: see `merging`
    pair_scores/<key>/<block>       as in the folder: complete, and never changed

They are sent every few seconds and at the end of a stage. They are downloaded on lookups, which list new ones at most
every few seconds.
"""

import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from runner.engine.store.bucket.bucket_writers import BucketWriters
from runner.engine.store.bucket.objects import ObjectInfo, Objects

_LOOK_EVERY_S = 2.0
_SEGMENT_BYTES = 1 << 20
_SUFFIX = ".jsonl"


class SyncState:
    """State shared by the mirrors of a folder. It prevents concurrent uploads and too frequent downloads."""

    def __init__(self, writers: BucketWriters, send: Callable[[], None]) -> None:
        self._writers = writers
        self._send = send
        self._sending = threading.Lock()
        self._is_due = False
        self._is_watched = False
        self._listed_at = float("-inf")

    def begin_listing_if_due(self) -> bool:
        """Begin the next interval and return True if it is time to list the bucket again."""
        now = time.monotonic()
        if now - self._listed_at < _LOOK_EVERY_S:
            return False
        self._listed_at = now
        return True

    def expire_listing(self) -> None:
        """Make it time to list the bucket again."""
        self._listed_at = float("-inf")

    def schedule_send(self, in_background: Callable[[], None]) -> None:
        """Schedule an upload within a few seconds. `in_background` is the bound method that uploads."""
        self._is_due = True
        if not self._is_watched:
            self._is_watched = True
            self._writers.run_periodically(in_background)

    def send_if_scheduled(self) -> None:
        """Upload if an upload is scheduled."""
        with self._sending:
            if self._is_due:
                self._is_due = False
                try:
                    self._send()
                except BaseException:
                    self._is_due = True
                    raise


@dataclass(frozen=True)
class _SendProgress:
    """Progress of sending one file, in segments.

    `number` and `start` belong to the segment that is not full. `end` is the end of the sent bytes. `tag` is the tag of
    the segment's object; "" if it does not exist yet.
    """

    inode: int
    number: int = 0
    start: int = 0
    end: int = 0
    tag: str = ""


class ReplyMirror:
    """The files of one folder of `runner.engine.store.replies.Replies`. Their writers append lines.

    The subfolders `.sent/` and `.brought/` record how much of each file was sent, and of each object downloaded. Files
    and objects may be merged afterwards.
    """

    def __init__(self, objects: Objects, writers: BucketWriters, folder: Path, prefix: str) -> None:
        self._objects, self._writers, self._folder, self._prefix = objects, writers, folder, prefix
        self._state = SyncState(writers, self._send)

    def download(self) -> None:
        """Append replies that others sent to a new file in the folder."""
        if not self._state.begin_listing_if_due():
            return
        self._send_abandoned()
        while not self._download_listed():  # some objects were merged into a new one, or pruned
            continue

    def _download_listed(self) -> bool:
        """Download all new replies. Returns False if some objects disappeared before they were read."""
        new: list[tuple[ObjectInfo, int, Path]] = []
        for listed in self._objects.list_objects(self._prefix):
            writer, segment = listed.path.split("/")[-2:]
            if not (self._folder / ".sent" / writer).exists():  # this host wrote the files that are marked as sent
                marker = self._folder / ".brought" / f"{writer}.{segment}"
                if (start := _read_number(marker)) < listed.n_bytes:
                    new.append((listed, start, marker))
        if not new:
            return True
        are_complete = True
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / f".{uuid.uuid4().hex}"
        try:
            with unfinished.open("wb") as file:
                for lines in self._objects.read_concurrently(
                    self._lines, [(listed, start) for listed, start, _ in new]
                ):
                    are_complete = are_complete and bool(lines)
                    file.write(lines)
            unfinished.rename(self._folder / f"brought-{uuid.uuid4().hex}{_SUFFIX}")
        finally:
            unfinished.unlink(missing_ok=True)
        for listed, _, marker in new:
            _write_atomically(marker, str(listed.n_bytes))
        return are_complete

    def _lines(self, part_to_read: tuple[ObjectInfo, int]) -> bytes:
        """Return the new lines of an object. Empty if it was deleted or emptied."""
        listed, start = part_to_read
        return self._objects.get_range(listed.path, start, listed.n_bytes) or b""

    def expire_listing(self) -> None:
        """Have the next `download` list the bucket, even if it was listed a moment ago."""
        self._state.expire_listing()

    def send(self) -> None:
        """Schedule an upload within a few seconds."""
        self._state.schedule_send(self.send_now)

    def send_now(self) -> None:
        """Upload the replies of this process."""
        self._state.send_if_scheduled()

    def _send(self) -> None:
        writer = self._writers.host_local_name
        self._send_file(self._folder / f"{writer}{_SUFFIX}")

    def _send_abandoned(self) -> None:
        """Upload the replies of processes of this host that ended before they could send them."""
        with suppress(FileNotFoundError):
            for entry in list(os.scandir(self._folder)):
                writer = entry.name.removesuffix(_SUFFIX)
                is_own = entry.name.endswith(_SUFFIX) and not writer.startswith(("brought-", "merged-"))
                if is_own and self._is_abandoned(entry.stat(), writer):
                    self._send_file(Path(entry.path))

    def _is_abandoned(self, file: os.stat_result, writer: str) -> bool:
        return file.st_size > self._read_progress(file, writer).end and self._writers.is_dead_on_this_host(writer)

    def _read_progress(self, file: os.stat_result, writer: str) -> _SendProgress:
        """Return the number of bytes of a file that were sent.

        A writer that was presumed dead, so that its file was merged, starts a new file. It continues in further
        segments.
        """
        try:
            progress = _SendProgress(**json.loads((self._folder / ".sent" / writer).read_text(encoding="utf-8")))
        except (FileNotFoundError, RecursionError, ValueError, TypeError):
            return _SendProgress(file.st_ino)
        return progress if progress.inode == file.st_ino else _SendProgress(file.st_ino, progress.number + 1)

    def _send_file(self, path: Path) -> None:
        """Upload from the first incomplete segment to the end of the last complete line.

        Segments end with a line, because they are downloaded individually.
        """
        writer = path.name.removesuffix(_SUFFIX)
        with (
            suppress(FileNotFoundError),
            path.open("rb") as file,
        ):  # the file was merged, and its content was sent before
            progress = self._read_progress(os.fstat(file.fileno()), writer)
            is_full = True
            while is_full:
                file.seek(progress.start)
                part = file.read(_SEGMENT_BYTES)
                is_full = len(part) == _SEGMENT_BYTES
                part += file.readline() if is_full else b""
                part = part[: part.rfind(b"\n") + 1]
                end = progress.start + len(part)
                if end > progress.end:
                    progress = replace(self._put(writer, progress, part), end=end)
                if is_full:
                    progress = replace(progress, number=progress.number + 1, start=end, tag="")
                _write_atomically(self._folder / ".sent" / writer, json.dumps(vars(progress)))

    def _put(self, writer: str, progress: _SendProgress, part: bytes) -> _SendProgress:
        """Replace a segment by its longer version. If others have merged it, the content becomes a further segment."""
        while True:
            path = f"{self._prefix}/{writer}/{progress.number:06}"
            tag = self._objects.replace(path, part, progress.tag) if progress.tag else self._objects.create(path, part)
            if tag is not None:
                return replace(progress, tag=tag)
            progress = replace(progress, number=progress.number + 1, tag="")


class BlockMirror:
    """The blocks of one folder, each complete and never changed."""

    def __init__(self, objects: Objects, writers: BucketWriters, folder: Path, prefix: str) -> None:
        self._objects, self._folder, self._prefix = objects, folder, prefix
        self._in_bucket: set[str] | None = None
        self._state = SyncState(writers, self._send)

    def download(self) -> None:
        """Download the blocks that the folder lacks, unless the bucket was listed a moment ago."""
        if not self._state.begin_listing_if_due():
            return
        missing = [each for name, each in self._look().items() if not (self._folder / name).exists()]
        if missing:
            self._folder.mkdir(parents=True, exist_ok=True)
        for each in missing:
            unfinished = self._folder / f".{uuid.uuid4().hex}"
            try:
                if self._objects.download(each.path, each.n_bytes, unfinished):
                    unfinished.rename(self._folder / each.path.rpartition("/")[2])
            finally:
                unfinished.unlink(missing_ok=True)

    def _look(self) -> dict[str, ObjectInfo]:
        listed = {each.path.rpartition("/")[2]: each for each in self._objects.list_objects(self._prefix)}
        self._in_bucket = set(listed)
        return listed

    def expire_listing(self) -> None:
        """Have the next `download` list the bucket, even if it was listed a moment ago."""
        self._state.expire_listing()

    def send(self) -> None:
        """Schedule an upload within a few seconds."""
        self._state.schedule_send(self.send_now)

    def send_now(self) -> None:
        """Upload all blocks that the bucket does not have."""
        self._state.send_if_scheduled()

    def _send(self) -> None:
        there = self._in_bucket if self._in_bucket is not None else set(self._look())
        for path in sorted(self._folder.glob("[!.]*.*.*")):
            if path.name not in there:
                with suppress(FileNotFoundError):  # the file was damaged and removed, or pruned
                    self._objects.upload(f"{self._prefix}/{path.name}", path)
                    there.add(path.name)


def _read_number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{uuid.uuid4().hex}")
    unfinished.write_text(text)
    unfinished.replace(path)
