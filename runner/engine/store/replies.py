"""Replies of a language model, written down one by one as they arrive, so that nothing that was paid for is lost.

A file holds one JSON object per line. It is only ever appended to: several processes may write to one file. Only the
places of the lines are held in memory.
"""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

from components.records import Answer, AnswerState
from components.text.normalize import whole_characters

_SYNC_EVERY_S = 1.0


class Replies:
    """The replies kept in one file, by request key. Failed answers are not kept: they are asked for again."""

    def __init__(self, path: Path) -> None:
        """Reads nothing yet; `refresh` does."""
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        self._n_read = 0
        self._synced = time.monotonic()

    def refresh(self) -> None:
        """Takes in what was appended since the last look, by this process or another. A line that was cut off in the
        middle, as a killed process leaves it, is passed over.
        """
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._n_read)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # still being written
                if key := _key_of(line):
                    self._places[key] = (self._n_read, len(line))
                self._n_read += len(line)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def get(self, key: str) -> Answer:
        """The reply kept for a request. Raises KeyError without one."""
        return self.get_all([key])[key]

    def get_all(self, keys: list[str]) -> dict[str, Answer]:
        """The replies kept for some of these requests, by key."""
        found: dict[str, Answer] = {}
        if wanted := [key for key in dict.fromkeys(keys) if key in self._places]:
            with self._path.open("rb") as file:
                for key in wanted:
                    start, length = self._places[key]
                    file.seek(start)
                    found[key] = _answer(json.loads(file.read(length)))
        return found

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
