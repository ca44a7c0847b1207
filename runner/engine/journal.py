"""Files in which answers are written down one by one as they arrive, so that nothing that was paid for is lost."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from components.records import Answer, AnswerState
from components.text.normalize import whole_characters

_SYNC_EVERY_S = 1.0


def read_journal(path: Path) -> Iterator[Answer]:
    """Answers of an earlier run that did not fail. A last line that was cut off in the middle is asked for again."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            raw = json.loads(line)
        except ValueError:
            continue
        if raw["state"] != AnswerState.ERROR:
            yield Answer(**{**raw, "state": AnswerState(raw["state"])})


def journalled(answers: Iterable[Answer], path: Path) -> Iterator[Answer]:
    """Passes answers on after writing each down; the disk is synced about once a second. Halves of characters, which no
    file can hold, are replaced.

    Each line is one unbuffered append that ends what a killed process may have left of a line, so that several
    processes may write to one file.
    """
    synced = time.monotonic()
    with path.open("ab", buffering=0) as file:
        for raw in answers:
            answer = replace(raw, text=whole_characters(raw.text), error=whole_characters(raw.error))
            file.write(b"\n" + json.dumps(asdict(answer), ensure_ascii=False).encode() + b"\n")
            if time.monotonic() - synced > _SYNC_EVERY_S:
                os.fsync(file.fileno())
                synced = time.monotonic()
            yield answer
