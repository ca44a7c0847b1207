"""Replies of a language model, written down one by one as they arrive, so that nothing that was paid for is lost.

    <folder>/<writer>.jsonl   of one process: what several hosts append to one file, some lose

A file holds one JSON object per line, which begins with the checksum of the rest. All read all files; only the
places of the lines are held in memory. Files of processes that have ended are merged now and then, so that there are
few.
"""

import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from components.openai_server.reading import as_count
from components.records import Answer, AnswerState
from components.text.normalize import whole_characters
from runner.console.written_files import sync
from runner.engine.store.claims import Claims
from runner.engine.store.key_locks import leased_if_free
from runner.engine.store.locks import shared_mode
from runner.engine.store.mirror import NO_MIRROR, Mirror
from runner.engine.store.part_files import keeping
from runner.engine.store.writers import Writers

_SYNC_EVERY_S = 1.0

_SUFFIX = ".jsonl"
_MERGED_FROM = 16
"""Each reader opens all files: no more than these for long."""


@dataclass
class _File:
    """What was read of a file: up to where, and where its replies are, as (start, length) by request."""

    identity: tuple[int, int] = (0, 0)
    n_read: int = 0
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take_in(self, file: BinaryIO) -> None:
        """What was appended since the last look. A line that was cut off in the middle, as a killed process leaves it,
        is passed over.
        """
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != self.identity or status.st_size < self.n_read:  # pruned, begun anew
            self.identity = (status.st_dev, status.st_ino)
            self.places.clear()
            self.n_read = 0
        if status.st_size == self.n_read:
            return
        file.seek(self.n_read)
        for line in file:
            if not line.endswith(b"\n"):
                break  # still being written
            if line != b"\n" and (reply := _reply(line)):  # `add_all` leaves a blank line before each
                self.places[reply.request_id] = (self.n_read, len(line))
            self.n_read += len(line)


class Replies:
    """The replies kept in one folder, by request key. Failed answers are not kept: they are asked for again."""

    def __init__(self, folder: Path, claims: Claims, writers: Writers, mirror: Mirror = NO_MIRROR) -> None:
        """Reads nothing yet. `claims` are those of this host's processes to replies that are on their way."""
        self.claims = claims
        self._mirror = mirror
        self._folder, self._writers = folder, writers
        self._files: dict[str, _File] = {}
        self._writes = False
        self._synced = time.monotonic()

    def get_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        """The replies kept for some of these requests, by key, those that another process added included."""
        wanted = dict.fromkeys(keys)
        found: dict[str, Answer] = {}
        self._mirror.bring()
        while True:
            names = self._names()
            for gone in self._files.keys() - set(names):
                del self._files[gone]
            n_gone = sum(not self._find(name, wanted, found) for name in names)
            if not n_gone:  # else they were merged into one that was not there yet, or pruned
                return found

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))  # noqa: PTH208 - names alone
        except FileNotFoundError:
            return []

    def _find(self, name: str, wanted: Iterable[str], found: dict[str, Answer]) -> bool:
        """Adds those of one file to what was found; False if it is gone."""
        try:
            file = (self._folder / name).open("rb")
        except FileNotFoundError:
            return False
        with file:
            known = self._files.setdefault(name, _File())
            known.take_in(file)
            for key in [key for key in wanted if key in known.places and key not in found]:
                start, length = known.places[key]
                file.seek(start)
                reply = _reply(file.read(length))
                if reply and reply.request_id == key:  # or the file is another one of the same name and number
                    found[key] = reply
        return True

    def add(self, key: str, answer: Answer) -> Answer:
        """As `add_all`, of one."""
        return self.add_all([replace(answer, request_id=key)])[0]

    def add_all(self, answers: Sequence[Answer]) -> list[Answer]:
        """Writes answers down, whose `request_id` are their keys, and returns them `as_read`. The disk is synced about
        once a second. Raises StoreError: whatever is asked next would be paid and lost.
        """
        read = list(map(as_read, answers))
        kept = [each for each in read if each.state is not AnswerState.ERROR]
        if not kept:
            return read
        with keeping("a reply", self._folder):
            if not self._writes:
                self._folder.mkdir(exist_ok=True)
                self._mirror.bring()  # and sends what is about to be merged
                self._merge()
                self._writes = True
            path = self._folder / f"{self._writers.own_name}{_SUFFIX}"
            # Who stands still between opening and writing may find himself believed dead, and his file merged.
            while not self._append(path, kept):
                continue
        self._mirror.send()
        return read

    def _append(self, path: Path, replies: Iterable[Answer]) -> bool:
        """False if the file had no name any more when the lines were in it."""
        # One unbuffered append, which first ends what a broken connection may have left of a line.
        rest = b"".join(b"\n" + _line(reply) + b"\n" for reply in replies)
        how = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        try:
            file = os.open(path, how, 0o666)
        except FileNotFoundError:  # the folder was pruned
            self._folder.mkdir(exist_ok=True)
            file = os.open(path, how, 0o666)
        try:
            while rest:  # a disk that runs full takes a part, and refuses what is left of it
                rest = rest[os.write(file, rest) :]
            if time.monotonic() - self._synced > _SYNC_EVERY_S:
                os.fsync(file)
                self._synced = time.monotonic()
            return os.fstat(file).st_nlink > 0
        finally:
            os.close(file)

    def _merge(self) -> None:
        """Makes one file of those whose writers have ended, if there are many. Killed at any moment it loses nothing:
        a reply that is in two files is one. Raises OSError.
        """
        if len(self._names()) <= _MERGED_FROM:
            return
        with leased_if_free(self._folder / ".merging", self._writers) as is_free:
            ended = (
                [name for name in self._names() if self._writers.is_gone(name.removesuffix(_SUFFIX))] if is_free else []
            )
            chosen = self._small(ended)
            if len(chosen) > 1:
                with suppress(FileNotFoundError):  # two believed that they were free to merge: one does
                    self._merge_into_one(chosen)

    def _small(self, names: Iterable[str]) -> list[str]:
        """Without the files that are larger than all smaller ones together: a large one is not copied for a few more
        replies.
        """
        sizes = sorted(((self._folder / name).stat().st_size, name) for name in names)
        chosen: list[str] = []
        before = up_to = 0
        for place, (size, _) in enumerate(sizes, start=1):
            if size <= before:
                up_to = place
            before += size
        chosen += (name for _, name in sizes[:up_to])
        return sorted(chosen)

    def _merge_into_one(self, names: Iterable[str]) -> None:
        """Loses nothing that a writer adds meanwhile, who was believed dead and goes on: his file keeps its name until
        it is read, and what came until it lost it is read again. Later `_append` finds the name gone.
        """
        read: dict[Path, tuple[int, int]] = {}

        def lines() -> Iterator[bytes]:
            for name in names:
                path = self._folder / name
                with path.open("rb") as file:
                    yield from file
                    read[path] = os.fstat(file.fileno()).st_ino, file.tell()

        self._write_merged(lines())
        late: list[bytes] = []
        for path, as_read_before in read.items():
            with suppress(FileNotFoundError), path.open("rb") as file:
                path.unlink()
                status = os.fstat(file.fileno())
                if (status.st_ino, status.st_size) != as_read_before:
                    late += file
        if late:
            self._write_merged(late)

    def _write_merged(self, lines: Iterable[bytes]) -> None:
        unfinished = self._folder / f".{uuid.uuid4().hex}"
        try:
            with unfinished.open("wb") as merged:
                merged.writelines(merged_lines(lines))
            unfinished.chmod(shared_mode(self._folder))
            sync(unfinished)
            unfinished.rename(self._folder / f"merged-{uuid.uuid4().hex}{_SUFFIX}")
            sync(self._folder)
        finally:
            unfinished.unlink(missing_ok=True)


def as_read(reply: Answer) -> Answer:
    """A reply as it is read once it was kept: halves of characters, which no file can hold, are replaced, and counts
    that no column can hold are not known. Raises AttributeError or TypeError for texts that are none.
    """
    return replace(
        reply,
        text=whole_characters(reply.text),
        error=whole_characters(reply.error),
        thoughts=whole_characters(reply.thoughts),
        n_prompt_tokens=as_count(reply.n_prompt_tokens),
        n_completion_tokens=as_count(reply.n_completion_tokens),
        n_reasoning_tokens=as_count(reply.n_reasoning_tokens),
        n_cached_tokens=as_count(reply.n_cached_tokens) or 0,
    )


def merged_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Those of several files for one: each reply once, nothing that was cut off or damaged. What another version of the
    project wrote, and this one cannot read, was paid for too.
    """
    seen: set[str | bytes] = set()
    for line in lines:
        if not line.endswith(b"\n"):
            continue
        reply = _reply(line)
        name = reply.request_id if reply else line if _body(line) else None
        if name is not None and name not in seen:
            seen.add(name)
            yield line


def is_sound(lines: Iterable[bytes]) -> bool:
    """False if any of the lines was cut off or damaged, so that `merged_lines` would leave it out."""
    return all(line.endswith(b"\n") and (line == b"\n" or _body(line) or _reply(line)) for line in lines)


_CHECKSUM = b'{"crc32": "%08x", '
_N_CHECKSUM = len(_CHECKSUM % 0)


def _line(answer: Answer) -> bytes:
    body = json.dumps(vars(answer), ensure_ascii=False).encode()[1:]
    return _CHECKSUM % crc32(body) + body


def _body(line: bytes) -> bytes | None:
    """The JSON behind a checksum that it matches; None for a line without one, or that was cut off or damaged."""
    head, body = line[:_N_CHECKSUM], line[_N_CHECKSUM:].rstrip(b"\n")
    return b"{" + body if body and head == _CHECKSUM % crc32(body) else None


def _reply(line: bytes) -> Answer | None:
    """What a line holds; None for one that is cut off or damaged. One without a checksum is older than these."""
    body = _body(line) if line.startswith(_CHECKSUM[:11]) else line
    try:
        raw = json.loads(body or b"")
        reply = as_read(Answer(**{**raw, "state": AnswerState(raw["state"])}))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    return reply if isinstance(reply.request_id, str) and reply.state is not AnswerState.ERROR else None
