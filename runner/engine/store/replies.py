"""Replies of a language model, written one by one as they arrive, so that no paid reply is lost.

    <folder>/<writer>.jsonl   replies that one process received: hosts that append to one file lose lines

A file holds one JSON object per line, which begins with the checksum of the rest. Every process reads all files, but
only the positions of the lines are in memory. Files of ended processes are merged from time to time.
"""

import errno
import json
import logging
import os
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from components.errors import StoreError
from components.openai_server.reply_reading import parse_count
from components.records import Answer, AnswerState
from components.text.normalize import whole_characters
from runner.console.written_files import sync
from runner.engine.store.claims import Claims
from runner.engine.store.key_locks import try_hold_key_lock
from runner.engine.store.locks import shared_mode
from runner.engine.store.part_files import permission_advice, storage_errors
from runner.engine.store.regular_files import open_regular
from runner.engine.store.remote import NO_MIRROR, Mirror
from runner.engine.store.writers import Writers

log = logging.getLogger(__name__)

_SYNC_EVERY_S = 1.0

_SUFFIX = ".jsonl"
_MERGE_ABOVE = 16
"""Number of files above which they are merged, because each reader opens all of them."""


@dataclass
class _FileIndex:
    """The part of a file read so far, and its replies as (start, length) by request."""

    identity: tuple[int, int] = (0, 0)
    n_read: int = 0
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    hidden: dict[str, Sequence[str]] = field(default_factory=dict)
    """Variables whose values were hidden in a reply, by request."""
    n_damaged: int = 0
    """Lines with another checksum, or that a killed process left incomplete."""

    def read_new(self, file: BinaryIO) -> None:
        """Read the lines appended since the last call. Skips incomplete and damaged lines."""
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != self.identity or status.st_size < self.n_read:  # the file was replaced
            self.identity = (status.st_dev, status.st_ino)
            self.places.clear()
            self.hidden.clear()
            self.n_read = self.n_damaged = 0
        if status.st_size == self.n_read:
            return
        file.seek(self.n_read)
        for line in file:
            if not line.endswith(b"\n"):
                break  # a process is still writing the line
            if line != b"\n" and (reply := _reply(line)):  # `add_all` writes a blank line before each batch
                self.places[reply.request_id] = (self.n_read, len(line))
                if variables := _read_hidden(line):
                    self.hidden[reply.request_id] = variables
            else:
                self.n_damaged += not _is_intact(line)
            self.n_read += len(line)


class _SpareDescriptor:
    """A file descriptor in reserve. Requests in flight may use all others, and their replies were paid for."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def reserve(self) -> None:
        if self._descriptor is None:
            with suppress(OSError):
                self._descriptor = os.open(os.devnull, os.O_RDONLY)

    def open(self, path: Path, flags: int) -> int:
        """Open a file as `os.open` does, with the spare descriptor if there is no other."""
        try:
            return os.open(path, flags, 0o666)
        except OSError as error:
            spare, self._descriptor = self._descriptor, None
            if error.errno != errno.EMFILE or spare is None:
                self._descriptor = spare
                raise
        os.close(spare)
        return os.open(path, flags, 0o666)


_SPARE = _SpareDescriptor()


class Replies:
    """Replies in one folder, by request key. Failed answers are not stored: they are requested again."""

    def __init__(self, folder: Path, claims: Claims, writers: Writers, mirror: Mirror = NO_MIRROR) -> None:
        """Reads nothing yet. `claims` are the claims of this host's processes to replies being requested."""
        self.claims = claims
        self._mirror = mirror
        self._folder, self._writers = folder, writers
        self._files: dict[str, _FileIndex] = {}
        self._writes = False
        self._synced = time.monotonic()

    def get_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return the stored replies to some requests, by key. Includes replies that other processes have added."""
        requested = dict.fromkeys(keys)
        replies: dict[str, Answer] = {}
        self._mirror.download()
        while True:
            names = self._names()
            for gone in self._files.keys() - set(names):
                del self._files[gone]
            n_gone = sum(not self._find(name, requested, replies) for name in names)
            if not n_gone:  # missing files were merged into a new one, or pruned
                return replies

    def hidden_variables(self, replies: Collection[str]) -> dict[str, Sequence[str]]:
        """Return the variables whose values were hidden in replies of the last `get_all`, by key.

        Replies without a hidden value are left out.
        """
        files = self._files.values()
        return {key: names for file in files for key, names in file.hidden.items() if key in replies}

    def keys(self, prefix: str) -> set[str]:
        """Return the stored keys that begin with a prefix."""
        self.get_all(())
        return {key for file in self._files.values() for key in file.places if key.startswith(prefix)}

    def damaged_files(self) -> dict[Path, int | None]:
        """Return the files with damaged or incomplete lines, with the numbers of these lines.

        A file that this user may not read has None instead of a number. Raises PermissionError for such a folder.
        """
        counts = {path: _count_damaged_lines(path) for path in (self._folder / name for name in self._names())}
        return {path: n_lines for path, n_lines in counts.items() if n_lines != 0}

    def drop_damaged(self, files: Iterable[Path]) -> None:
        """Rewrite files without their damaged lines. Raises StoreError if they cannot be written."""
        with storage_errors("replies", self._folder):
            for path in files:
                with suppress(FileNotFoundError):  # another process has merged or pruned it
                    self._merge_into_one([path.name])

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))  # noqa: PTH208 - only names
        except FileNotFoundError:
            return []

    def _find(self, name: str, requested: Iterable[str], replies: dict[str, Answer]) -> bool:
        """Add the replies of one file to `replies`. Returns False if the file does not exist any more."""
        try:
            file = open_regular(self._folder / name)
        except FileNotFoundError:
            return False
        except PermissionError as error:
            raise StoreError(f"{error.filename}: {error.strerror}. {permission_advice(self._folder)}") from error
        with file:
            index = self._files.setdefault(name, _FileIndex())
            n_before = index.n_damaged
            index.read_new(file)
            if n_new := max(index.n_damaged - n_before, 0):
                log.warning(
                    "%s: %s; requests are sent again where they are needed",
                    self._folder / name,
                    format_damaged_lines(n_new),
                )
            for key in [key for key in requested if key in index.places and key not in replies]:
                start, length = index.places[key]
                file.seek(start)
                reply = _reply(file.read(length))
                if reply and reply.request_id == key:  # a file that was created later may have the same name and inode
                    replies[key] = reply
        return True

    def add(self, key: str, answer: Answer) -> Answer:
        """Store one answer as `add_all` does."""
        return self.add_all([replace(answer, request_id=key)])[0]

    def add_all(self, answers: Sequence[Answer], hidden: Mapping[str, Sequence[str]] | None = None) -> list[Answer]:
        """Write answers under their `request_id` and return them `as_stored`. Failed answers are not written.

        `hidden` names the variables whose values were hidden in an answer, by `request_id`.

        The disk is synced about once a second. Raises StoreError if they cannot be written, so that no further replies
        are paid for and lost.
        """
        read_answers = list(map(as_stored, answers))
        storable = [each for each in read_answers if each.state is not AnswerState.ERROR]
        if not storable:
            return read_answers
        with storage_errors("a reply", self._folder):
            if not self._writes:
                self._folder.mkdir(exist_ok=True)
                self._mirror.download()  # `download` also sends the files that are about to be merged
                self._merge()
                self._writes = True
            path = self._folder / f"{self._writers.own_name}{_SUFFIX}"
            # A process that pauses between opening and writing may be presumed dead, and its file merged.
            while not self._append(path, storable, hidden or {}):
                continue
        self._mirror.send()
        return read_answers

    def _append(self, path: Path, replies: Iterable[Answer], hidden: Mapping[str, Sequence[str]]) -> bool:
        """Append replies to a file. Returns False if the file was deleted before they were written."""
        # One unbuffered append. The first newline ends a line that a broken connection left incomplete.
        unwritten = b"".join(b"\n" + _line(reply, hidden.get(reply.request_id, ())) + b"\n" for reply in replies)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        try:
            file = _SPARE.open(path, flags)
        except FileNotFoundError:  # the folder was pruned
            self._folder.mkdir(exist_ok=True)
            file = _SPARE.open(path, flags)
        try:
            while unwritten:  # a disk that becomes full accepts one part and refuses the rest
                unwritten = unwritten[os.write(file, unwritten) :]
            if time.monotonic() - self._synced > _SYNC_EVERY_S:
                os.fsync(file)
                self._synced = time.monotonic()
            return os.fstat(file).st_nlink > 0
        finally:
            os.close(file)
            _SPARE.reserve()

    def _merge(self) -> None:
        """Merge the files of ended writers if there are many. Raises OSError if a file cannot be read or written.

        A kill at any moment loses no reply: a reply that is in two files counts once.
        """
        if len(self._names()) <= _MERGE_ABOVE:
            return
        with try_hold_key_lock(self._folder / ".merging", self._writers) as is_free:
            ended = (
                [name for name in self._names() if self._writers.is_gone(name.removesuffix(_SUFFIX))] if is_free else []
            )
            chosen = self._choose_files_to_merge(ended)
            if len(chosen) > 1:
                with suppress(FileNotFoundError):  # another process merges at the same time
                    self._merge_into_one(chosen)

    def _choose_files_to_merge(self, names: Iterable[str]) -> list[str]:
        """Return the names of the files to merge, sorted.

        A file that is larger than all smaller ones together is left out, so that it is not copied for a few replies.
        """
        sizes = sorted(((self._folder / name).stat().st_size, name) for name in names)
        chosen: list[str] = []
        before = up_to = 0
        for n_files, (size, _) in enumerate(sizes, start=1):
            if size <= before:
                up_to = n_files
            before += size
        chosen += (name for _, name in sizes[:up_to])
        return sorted(chosen)

    def _merge_into_one(self, names: Iterable[str]) -> None:
        """Merge files without losing replies of a writer that was presumed dead but continues.

        Its file keeps its name until it has been read. Lines that were added before it lost its name are read again. A
        later `_append` notices that the file has no name.
        """
        read_positions: dict[Path, tuple[int, int]] = {}

        def lines() -> Iterator[bytes]:
            for name in names:
                path = self._folder / name
                with path.open("rb") as file:
                    yield from file
                    read_positions[path] = os.fstat(file.fileno()).st_ino, file.tell()

        self._write_merged(lines())
        late: list[bytes] = []
        for path, as_read_before in read_positions.items():
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
                merged.writelines(merge_lines(lines))
            unfinished.chmod(shared_mode(self._folder))
            sync(unfinished)
            unfinished.rename(self._folder / f"merged-{uuid.uuid4().hex}{_SUFFIX}")
            sync(self._folder)
        finally:
            unfinished.unlink(missing_ok=True)


def as_stored(reply: Answer) -> Answer:
    """Return a reply as it will be read from the store.

    Lone surrogates, which no file can hold, are replaced. Counts too large for a column become unknown. Raises
    AttributeError or TypeError for texts that are not strings.
    """
    return replace(
        reply,
        text=whole_characters(reply.text),
        error=whole_characters(reply.error),
        thoughts=whole_characters(reply.thoughts),
        n_prompt_tokens=parse_count(reply.n_prompt_tokens),
        n_completion_tokens=parse_count(reply.n_completion_tokens),
        n_reasoning_tokens=parse_count(reply.n_reasoning_tokens),
        n_cached_tokens=parse_count(reply.n_cached_tokens) or 0,
    )


def merge_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of several files for a merged one: each reply once, without incomplete or damaged lines.

    Lines of another version of the project stay even if this version cannot read them, because they were paid for.
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


def count_damaged(lines: Iterable[bytes]) -> int:
    """Return the number of incomplete and damaged lines, which `merge_lines` drops."""
    return sum(not _is_intact(line) for line in lines)


def _count_damaged_lines(path: Path) -> int | None:
    """Return the number of damaged lines; None for a file that this user may not read."""
    try:
        with open_regular(path) as file:
            return count_damaged(file)
    except FileNotFoundError:  # another process merged or pruned it
        return 0
    except PermissionError:
        return None


def _is_intact(line: bytes) -> bool:
    return line.endswith(b"\n") and bool(line == b"\n" or _body(line) or _reply(line))


def format_damaged_lines(n_lines: int) -> str:
    """Format a number of damaged lines."""
    return f"{n_lines} {'reply is' if n_lines == 1 else 'replies are'} incomplete or damaged"


_CHECKSUM = b'{"crc32": "%08x", '
_N_CHECKSUM = len(_CHECKSUM % 0)


_HIDDEN = "hidden"
"""Field of a line with the variables whose values were hidden in the reply. Most lines do not have it."""


def _line(answer: Answer, hidden: Sequence[str]) -> bytes:
    facts = {**vars(answer), _HIDDEN: list(hidden)} if hidden else vars(answer)
    body = json.dumps(facts, ensure_ascii=False).encode()[1:]
    return _CHECKSUM % crc32(body) + body


def _body(line: bytes) -> bytes | None:
    """Return the JSON of a line. None if the line is incomplete or damaged, or has no checksum."""
    head, body = line[:_N_CHECKSUM], line[_N_CHECKSUM:].rstrip(b"\n")
    return b"{" + body if body and head == _CHECKSUM % crc32(body) else None


def _reply(line: bytes) -> Answer | None:
    """Return the reply in a line. None if it is incomplete or damaged. Lines of early versions have no checksum."""
    body = _body(line) if line.startswith(_CHECKSUM[:11]) else line
    try:
        raw = json.loads(body or b"")
        raw.pop(_HIDDEN, None)
        reply = as_stored(Answer(**{**raw, "state": AnswerState(raw["state"])}))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    return reply if isinstance(reply.request_id, str) and reply.state is not AnswerState.ERROR else None


def _read_hidden(line: bytes) -> list[str]:
    """Return the variables whose values were hidden in the reply of a line."""
    if f'"{_HIDDEN}": ['.encode() not in line:  # decoding each line a second time would take as long as the first
        return []
    variables = json.loads(_body(line) or b"{}").get(_HIDDEN)
    return [name for name in variables if isinstance(name, str)] if isinstance(variables, list) else []
