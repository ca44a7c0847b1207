"""Replies of models and scores of pairs, which are kept before their stage ends, in a bucket.

    replies/<key>/<writer>/<n>      a MiB or so of what one process was given: put anew until it is full
    replies/<key>/merged-*/<n>      what was in many such objects: see `merging`
    pair_scores/<key>/<block>       as in the folder: whole, and never changed

They are sent every few seconds and when a stage ends, and brought when they are looked for: what others have sent is
asked for every few seconds at most.
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
from runner.engine.store.bucket.objects import Listed, Objects

_LOOKED_EVERY_S = 2.0
_SEGMENT = 1 << 20
_SUFFIX = ".jsonl"


class SentAndBrought:
    """What the mirrors of one folder share: nothing is sent twice at a time, or asked for too often."""

    def __init__(self, writers: BucketWriters, send: Callable[[], None]) -> None:
        self._writers = writers
        self._send = send
        self._sending = threading.Lock()
        self._is_due = False
        self._is_watched = False
        self._looked = float("-inf")

    @property
    def may_look(self) -> bool:
        """Whether it is time to ask again what others have sent; asking begins."""
        now = time.monotonic()
        if now - self._looked < _LOOKED_EVERY_S:
            return False
        self._looked = now
        return True

    def soon(self, in_background: Callable[[], None]) -> None:
        """Something is to be sent."""
        self._is_due = True
        if not self._is_watched:
            self._is_watched = True
            self._writers.every_few_seconds(in_background)

    def now(self) -> None:
        """Sends what is to be sent."""
        with self._sending:
            if self._is_due:
                self._is_due = False
                try:
                    self._send()
                except BaseException:
                    self._is_due = True
                    raise


@dataclass(frozen=True)
class _Sent:
    """How much of a file was sent: the number of the segment that is not full, where it begins, up to where all was
    sent, and the tag of its object, "" if there is none yet.
    """

    inode: int
    number: int = 0
    start: int = 0
    end: int = 0
    tag: str = ""


class SentReplies:
    """The files of one folder of `runner.engine.store.replies.Replies`, to which their writers append lines.

    Beside them, in `.sent/` and `.brought/`, stands how much of each file was sent, and of each object brought: files
    and objects may be merged afterwards.
    """

    def __init__(self, objects: Objects, writers: BucketWriters, folder: Path, prefix: str) -> None:
        self._objects, self._writers, self._folder, self._prefix = objects, writers, folder, prefix
        self._state = SentAndBrought(writers, self._send)

    def bring(self) -> None:
        """Appends what others have sent to a new file of the folder."""
        if not self._state.may_look:
            return
        self._send_left()
        while not self._bring_listed():  # some were merged into one that was not there yet, or pruned
            continue

    def _bring_listed(self) -> bool:
        """False if some were gone when they were to be read."""
        new: list[tuple[Listed, int, Path]] = []
        for listed in self._objects.listed(self._prefix):
            writer, segment = listed.path.split("/")[-2:]
            if not (self._folder / ".sent" / writer).exists():  # else it was written here
                marker = self._folder / ".brought" / f"{writer}.{segment}"
                if (start := _number_in(marker)) < listed.n_bytes:
                    new.append((listed, start, marker))
        if not new:
            return True
        are_whole = True
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / f".{uuid.uuid4().hex}"
        try:
            with unfinished.open("wb") as file:
                for lines in self._objects.at_once(self._lines, [(listed, start) for listed, start, _ in new]):
                    are_whole = are_whole and bool(lines)
                    file.write(lines)
            unfinished.rename(self._folder / f"brought-{uuid.uuid4().hex}{_SUFFIX}")
        finally:
            unfinished.unlink(missing_ok=True)
        for listed, _, marker in new:
            _note(marker, str(listed.n_bytes))
        return are_whole

    def _lines(self, wanted: tuple[Listed, int]) -> bytes:
        """Nothing of what is gone, or was emptied."""
        listed, start = wanted
        return self._objects.get_range(listed.path, start, listed.n_bytes) or b""

    def send(self) -> None:
        """Within some seconds."""
        self._state.soon(self.send_now)

    def send_now(self) -> None:
        """What this process was given."""
        self._state.now()

    def _send(self) -> None:
        writer = self._writers.on_host_name
        self._send_file(self._folder / f"{writer}{_SUFFIX}")

    def _send_left(self) -> None:
        """What processes of this host were given that have ended before they could send it."""
        with suppress(FileNotFoundError):
            for entry in list(os.scandir(self._folder)):
                writer = entry.name.removesuffix(_SUFFIX)
                is_own = entry.name.endswith(_SUFFIX) and not writer.startswith(("brought-", "merged-"))
                if is_own and self._is_left(entry.stat(), writer):
                    self._send_file(Path(entry.path))

    def _is_left(self, file: os.stat_result, writer: str) -> bool:
        return file.st_size > self._sent(file, writer).end and self._writers.has_ended_here(writer)

    def _sent(self, file: os.stat_result, writer: str) -> _Sent:
        """Of a file. One that was begun anew, as its writer was believed to have ended, goes into further segments."""
        try:
            sent = _Sent(**json.loads((self._folder / ".sent" / writer).read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return _Sent(file.st_ino)
        return sent if sent.inode == file.st_ino else _Sent(file.st_ino, sent.number + 1)

    def _send_file(self, path: Path) -> None:
        """From the segment on that is not full, up to the end of the last whole line. Segments end with lines: they are
        brought one by one.
        """
        writer = path.name.removesuffix(_SUFFIX)
        with suppress(FileNotFoundError), path.open("rb") as file:  # merged: it was sent before
            sent = self._sent(os.fstat(file.fileno()), writer)
            is_full = True
            while is_full:
                file.seek(sent.start)
                part = file.read(_SEGMENT)
                is_full = len(part) == _SEGMENT
                part += file.readline() if is_full else b""
                part = part[: part.rfind(b"\n") + 1]
                end = sent.start + len(part)
                if end > sent.end:
                    sent = replace(self._put(writer, sent, part), end=end)
                if is_full:
                    sent = replace(sent, number=sent.number + 1, start=end, tag="")
                _note(self._folder / ".sent" / writer, json.dumps(vars(sent)))

    def _put(self, writer: str, sent: _Sent, part: bytes) -> _Sent:
        """A segment in the place of what it was before; as a further one if others have merged that since."""
        while True:
            path = f"{self._prefix}/{writer}/{sent.number:06}"
            tag = self._objects.replace(path, part, sent.tag) if sent.tag else self._objects.create(path, part)
            if tag is not None:
                return replace(sent, tag=tag)
            sent = replace(sent, number=sent.number + 1, tag="")


class SentBlocks:
    """The blocks of one folder, each whole and never changed."""

    def __init__(self, objects: Objects, writers: BucketWriters, folder: Path, prefix: str) -> None:
        self._objects, self._folder, self._prefix = objects, folder, prefix
        self._there: set[str] | None = None
        self._state = SentAndBrought(writers, self._send)

    def bring(self) -> None:
        """Gets those that are not here."""
        if not self._state.may_look:
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

    def _look(self) -> dict[str, Listed]:
        listed = {each.path.rpartition("/")[2]: each for each in self._objects.listed(self._prefix)}
        self._there = set(listed)
        return listed

    def send(self) -> None:
        """Within some seconds."""
        self._state.soon(self.send_now)

    def send_now(self) -> None:
        """All that the bucket does not have."""
        self._state.now()

    def _send(self) -> None:
        there = self._there if self._there is not None else set(self._look())
        for path in sorted(self._folder.glob("[!.]*.*.*")):
            if path.name not in there:
                with suppress(FileNotFoundError):  # damaged and removed, or pruned
                    self._objects.upload(f"{self._prefix}/{path.name}", path)
                    there.add(path.name)


def _number_in(path: Path) -> int:
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _note(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{uuid.uuid4().hex}")
    unfinished.write_text(text)
    unfinished.replace(path)
