"""Replies of a language model, written down one by one as they arrive, so that nothing that was paid for is lost.

A file holds one JSON object per line, which begins with the checksum of the rest. It is only ever appended to: several
processes may write to one file. Only the places of the lines are held in memory.
"""

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from components.records import Answer, AnswerState
from components.text.normalize import whole_characters
from runner.engine.store.claims import Claims
from runner.engine.store.files import keeping

_SYNC_EVERY_S = 1.0


class Replies:
    """The replies kept in one file, by request key. Failed answers are not kept: they are asked for again."""

    def __init__(self, path: Path, claims: Claims) -> None:
        """Reads nothing yet. `claims` are those of all processes to replies that are on their way to this file."""
        self.claims = claims
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        self._n_read = 0
        self._identity = (0, 0)
        self._synced = time.monotonic()

    def get_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        """The replies kept for some of these requests, by key, those that another process added included."""
        found: dict[str, Answer] = {}
        with suppress(FileNotFoundError), self._path.open("rb") as file:  # without a file there are none
            self._take_in(file)
            for key in dict.fromkeys(keys):
                if key in self._places:
                    start, length = self._places[key]
                    file.seek(start)
                    reply = _reply(file.read(length))
                    if reply and reply.request_id == key:  # or the file is another one of the same name and number
                        found[key] = reply
        return found

    def _take_in(self, file: BinaryIO) -> None:
        """What was appended since the last look, by this process or another. A line that was cut off in the middle, as
        a killed process leaves it, is passed over.
        """
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != self._identity or status.st_size < self._n_read:  # pruned, begun anew
            self._identity = (status.st_dev, status.st_ino)
            self._places.clear()
            self._n_read = 0
        file.seek(self._n_read)
        for line in file:
            if not line.endswith(b"\n"):
                break  # still being written
            if line != b"\n" and (reply := _reply(line)):  # `add` leaves a blank line before each
                self._places[reply.request_id] = (self._n_read, len(line))
            self._n_read += len(line)

    def add(self, key: str, answer: Answer) -> Answer:
        """Writes an answer down, and returns it as it will be read: halves of characters, which no file can hold, are
        replaced. The disk is synced about once a second. Raises StoreError: whatever is asked next would be paid and
        lost.
        """
        kept = replace(answer, request_id=key, text=whole_characters(answer.text), error=whole_characters(answer.error))
        if kept.state is AnswerState.ERROR:
            return kept
        # One unbuffered append, which first ends what a killed process may have left of a line.
        rest = b"\n" + _line(kept) + b"\n"
        with keeping("a reply", self._path), self._path.open("ab", buffering=0) as file:
            while rest:  # a disk that runs full takes a part, and refuses what is left of it
                rest = rest[file.write(rest) :]
            if time.monotonic() - self._synced > _SYNC_EVERY_S:
                os.fsync(file.fileno())
                self._synced = time.monotonic()
        return kept


_CHECKSUM = b'{"crc32": "%08x", '
_N_CHECKSUM = len(_CHECKSUM % 0)


def _line(answer: Answer) -> bytes:
    body = json.dumps(vars(answer), ensure_ascii=False).encode()[1:]
    return _CHECKSUM % crc32(body) + body


def _reply(line: bytes) -> Answer | None:
    """What a line holds; None for one that is cut off or damaged. One without a checksum is older than these."""
    body = line.rstrip(b"\n")
    if body.startswith(_CHECKSUM[:11]):
        head, body = body[:_N_CHECKSUM], body[_N_CHECKSUM:]
        if head != _CHECKSUM % crc32(body):
            return None
        body = b"{" + body
    try:
        raw = json.loads(body)
        reply = Answer(**{**raw, "state": AnswerState(raw["state"])})
    except (ValueError, KeyError, TypeError):
        return None
    return reply if isinstance(reply.request_id, str) and reply.state is not AnswerState.ERROR else None
