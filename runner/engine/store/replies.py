"""Replies of a language model, written down one by one as they arrive, so that nothing that was paid for is lost.

A file holds one JSON object per line. It is only ever appended to: several processes may write to one file. Only the
places of the lines are held in memory.
"""

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from components.records import Answer, AnswerState
from components.text.normalize import whole_characters
from runner.engine.store.claims import Claims

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
                    line = file.read(length)
                    if _key_of(line) == key:  # or the file is another one of the same name and number
                        found[key] = _answer(json.loads(line))
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
            if key := _key_of(line):
                self._places[key] = (self._n_read, len(line))
            self._n_read += len(line)

    def add(self, key: str, answer: Answer) -> Answer:
        """Writes an answer down, and returns it as it will be read: halves of characters, which no file can hold, are
        replaced. The disk is synced about once a second.
        """
        kept = replace(answer, request_id=key, text=whole_characters(answer.text), error=whole_characters(answer.error))
        if kept.state is AnswerState.ERROR:
            return kept
        # One unbuffered append, which first ends what a killed process may have left of a line.
        with self._path.open("ab", buffering=0) as file:
            file.write(b"\n" + json.dumps(vars(kept), ensure_ascii=False).encode() + b"\n")
            if time.monotonic() - self._synced > _SYNC_EVERY_S:
                os.fsync(file.fileno())
                self._synced = time.monotonic()
        return kept


def _key_of(line: bytes) -> str:
    """The key in a line; "" for one that is blank or cut off."""
    if line == b"\n":
        return ""
    try:
        raw = json.loads(line)
        return str(raw["request_id"]) if raw["state"] != AnswerState.ERROR else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _answer(raw: dict[str, object]) -> Answer:
    return Answer(**{**raw, "state": AnswerState(raw["state"])})  # type: ignore[arg-type]  # written by `add`
