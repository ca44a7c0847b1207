"""Passages that the user's code returns: texts, or records with a text and hints about its location.

They are untrusted: every field is validated before it is used.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.secrets.mask import shortened_value
from components.text.normalize import whole_characters

MAX_PASSAGES = 1_000
MAX_PASSAGE_CHARACTERS = 10_000_000
"""Maximum number of characters of all passages of a reply."""

_SHOWN_CHARACTERS = 60


class BadReply(ValueError):
    """A reply that breaks the contract."""


@dataclass(frozen=True)
class ReportedPassage:
    """A passage that a pipeline used, or that a search found.

    `document_id`, `source` and `start` are hints at its location. They only decide between equal texts. The text must
    be in the corpus; hints are never trusted over it.
    """

    text: str
    document_id: str = ""
    source: str = ""
    start: int | None = None


def read_passages(value: object) -> list[ReportedPassage]:
    """Return passages, best first. `value` is a list of texts, or of records with `text`.

    Raises BadReply for a value of another form, and for too many or too long passages.
    """
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise BadReply(f"passages: got {preview(value)}, expected a list of texts, or of records with `text`")
    if len(value) > MAX_PASSAGES:
        raise BadReply(f"passages: got {len(value):,}, expected at most {MAX_PASSAGES:,}")
    passages = [_passage(passage, f"passages[{index}]") for index, passage in enumerate(value)]
    n_characters = sum(len(passage.text) for passage in passages)
    if n_characters > MAX_PASSAGE_CHARACTERS:
        raise BadReply(f"passages: have {n_characters:,} characters, expected at most {MAX_PASSAGE_CHARACTERS:,}")
    return passages


def read_fields(value: object, location: str, expected: str) -> Mapping[str, object]:
    """Return a mapping, or the fields of a dataclass. Raises BadReply for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return value
    raise BadReply(f"{location}: got {preview(value)}, expected {expected}")


def read_text(value: object, location: str) -> str:
    """Return a string without unpaired surrogates. Raises BadReply for anything else."""
    if not isinstance(value, str):
        raise BadReply(f"{location}: got {preview(value)}, expected a string")
    return whole_characters(str(value))


def preview(value: object) -> str:
    """Return the beginning of a value, and its type."""
    return f"{shortened_value(value, _SHOWN_CHARACTERS)} ({type(value).__name__})"


def _passage(value: object, location: str) -> ReportedPassage:
    if isinstance(value, str):
        return ReportedPassage(whole_characters(value))
    record = read_fields(value, location, "a text, or a record with `text`")
    start = record.get("start")
    if start is not None and not (type(start) is int and start >= 0):
        raise BadReply(f"{location}.start: got {preview(start)}, expected a position in the document, from 0")
    hints = {name: read_text(record.get(name) or "", f"{location}.{name}") for name in ("document_id", "source")}
    return ReportedPassage(read_text(record.get("text"), f"{location}.text"), **hints, start=start)
