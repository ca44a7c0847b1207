"""The correct answers in a user's questions: references, the parts that an answer must contain, and answerability."""

from collections.abc import Sequence
from itertools import product
from math import prod

from components.datasets.json_fields import Record, as_list, optional_texts
from components.errors import DataError
from components.text.languages import detect_language

Part = tuple[str, ...]
"""The wordings of a part of an answer."""
_MAX_COMBINATIONS = 256
"""Maximum number of references that one answer in parts may produce, and of parts that several such answers may
produce.
"""


def read_answers(record: Record, location: str) -> tuple[tuple[str, ...], tuple[Part, ...]]:
    """Return the references of a question, and the parts that an answer must contain.

    `references` is a text or a list of alternatives. An alternative is a text, or a list of parts. A part is a text or
    a list of its wordings. Every combination of wordings becomes a reference. Without `answer_parts`, the parts are
    derived from such alternatives: an answer contains them all if it contains all parts of one alternative. Raises
    DataError for values of another form, and for too many combinations.
    """
    value = record.get("references")
    parts = read_answer_parts(record, location)
    if not isinstance(value, list) or not any(isinstance(entry, list) for entry in value):
        return optional_texts(record, "references", location), parts
    field_location = f"{location}, field 'references'"
    alternatives = [_alternative(entry, field_location) for entry in value if entry != ""]
    _require_few([prod(map(len, alternative)) for alternative in alternatives], field_location)
    references = (text for alternative in alternatives for text in map(_join, product(*alternative)))
    return tuple(dict.fromkeys(references)), parts or _common_parts(alternatives, field_location)


def read_answer_parts(record: Record, location: str) -> tuple[Part, ...]:
    """Return the parts that an answer must contain, each with its wordings, or () if the record has no such field.

    Raises DataError for values of another form.
    """
    location = f"{location}, field 'answer_parts'"
    return _parts(as_list(record.get("answer_parts") or [], location), location)


def read_answerable(record: Record, location: str) -> bool:
    """Return True if the documents answer the question, which is the default.

    Raises DataError for any value other than true or false.
    """
    value = record.get("answerable")
    if value is not None and not isinstance(value, bool):
        raise DataError(f"{location}, field 'answerable': got {value!r}, expected true or false")
    return value is not False


def _parts(entries: Sequence[object], location: str) -> tuple[Part, ...]:
    wordings = tuple(optional_texts({"part": part}, "part", location) for part in entries)
    if not all(wordings):
        raise DataError(f"{location}: a part is blank, expected a string, or a list of equivalent strings")
    return wordings


def _alternative(entry: object, location: str) -> tuple[Part, ...]:
    parts = _parts(entry if isinstance(entry, list) else [entry], location)
    if not parts:
        raise DataError(f"{location}: an alternative has no part, expected a string, or a list of parts")
    return parts


def _require_few(counts: Sequence[int], location: str) -> None:
    if sum(counts) > _MAX_COMBINATIONS:
        raise DataError(
            f"{location}: its parts and wordings combine to {sum(counts):,} texts, expected at most "
            f"{_MAX_COMBINATIONS}. Leave out rare wordings, or give answer_parts and plain references."
        )


def _join(parts: Sequence[str]) -> str:
    return ("、" if detect_language(parts) in ("zh", "ja") else ", ").join(parts)


def _common_parts(alternatives: Sequence[tuple[Part, ...]], location: str) -> tuple[Part, ...]:
    """Return parts that an answer contains if and only if it contains all parts of at least one alternative.

    Each returned part combines one part of each alternative: its wordings are the wordings of them all.
    """
    _require_few([prod(map(len, alternatives))], location)
    combined = (tuple(dict.fromkeys(text for part in chosen for text in part)) for chosen in product(*alternatives))
    return tuple(dict.fromkeys(combined))
