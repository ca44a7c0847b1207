"""The gold of a user's question: documents or parts of documents. Some may be alternatives to each other."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from components.datasets.json_fields import Record, as_list, as_record, required_id, required_text
from components.datasets.missing_documents import MissingDocuments
from components.errors import DataError
from components.limits import expected_one_of
from components.records import Evidence
from components.text.normalize import drop_word_breaks, is_word_character

_FIELDS = ("document", "quote", "start", "end", "grade")
_N_SHOWN = 60
_MAX_COMPARED = 20_000
"""Maximum number of characters in which we look for the nearest text: hundreds of quotes may be wrong."""
_MIN_ALIKE = 70
"""Minimum similarity, in percent, of a text that a message shows."""


def read_gold(
    record: Record, texts: Mapping[str, str], missing: MissingDocuments, location: str
) -> list[list[Evidence]]:
    """Read `gold` and `gold_any` as sets of alternatives: a question needs one unit of every set.

    `gold` is a unit or a list. Each entry of the list is needed. An entry that is itself a list is a set of
    alternatives. `gold_any` is a single set of alternatives. A unit is the id of a document (a string or a whole
    number), or an object:

    - "document": the id;
    - "quote": a text that occurs in the document once, ignoring line breaks;
    - "start" and "end": characters, end exclusive. If a quote is given too, both must agree;
    - "grade": the grade of relevance, 1 or more.

    `texts` are the documents' texts by id, and `missing` words the error for other ids. Return [] for a question that
    lacks both fields. Raises DataError for units of another form, quotes from unknown documents, and quotes that are
    not in the document.
    """
    sets = [entry if isinstance(entry, list) else [entry] for entry in _entries(record, "gold", location)]
    if any_of := _entries(record, "gold_any", location):
        sets.append(any_of)
    if not all(sets):
        raise DataError(
            f"{location}, field 'gold': got an empty list of alternatives. Name at least one document in it."
        )
    return [[_unit(unit, texts, missing, location) for unit in alternatives] for alternatives in sets]


def join_units(sets: Iterable[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """Return the units of all sets in order. Distinct units of the same set are marked as alternatives."""
    units: list[Evidence] = []
    n_choices = 0
    for alternatives in map(dict.fromkeys, sets):
        n_choices += len(alternatives) > 1
        units += [replace(unit, one_of=n_choices if len(alternatives) > 1 else 0) for unit in alternatives]
    return tuple(units)


def _entries(record: Record, name: str, location: str) -> list[object]:
    """Return the field as a list. A single unit becomes a list of one."""
    value = record.get(name)
    if value is None or value == "":
        return []
    return (
        [value] if isinstance(value, str | dict) or _is_number(value) else as_list(value, f"{location}, field '{name}'")
    )


def _unit(unit: object, texts: Mapping[str, str], missing: MissingDocuments, location: str) -> Evidence:
    if isinstance(unit, str) or _is_number(unit):
        return Evidence(str(unit))
    record = as_record(unit, f"{location}, field 'gold'")
    if unknown := [name for name in record if name not in _FIELDS]:
        raise DataError(f"{location}, field 'gold': unknown field '{unknown[0]}'{expected_one_of(unknown[0], _FIELDS)}")
    document_id = required_id(record, location, "document")
    start, end = (_whole_number(record, name, location) for name in ("start", "end"))
    grade = _whole_number(record, "grade", location)
    if grade is not None and grade < 1:
        raise DataError(f"{location}: got the grade {grade}, expected at least 1. Leave out irrelevant documents.")
    if "quote" in record:
        quote = required_text(record, "quote", location)
        if not quote.strip():
            raise DataError(f"{location}, field 'quote': is blank. Leave it out for the whole document.")
        text = texts.get(document_id)
        if text is None:
            raise DataError(
                f"{location}: the document of the quote {quote[:_N_SHOWN]!r} is not in the corpus, which has no "
                f"document {missing.describe(document_id)}"
            )
        start, end = _locate_quote(quote, document_id, start, end, text, location)
    return Evidence(document_id, start, end, 1 if grade is None else grade)


def _whole_number(record: Record, name: str, location: str) -> int | None:
    value = record.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise DataError(f"{location}, field '{name}': got {value!r}, expected a whole number")
    return value


def _is_number(value: object) -> bool:
    """Return True for a whole number, which can be an id, as in documents."""
    return isinstance(value, int) and not isinstance(value, bool)


def _locate_quote(
    quote: str, document_id: str, start: int | None, end: int | None, text: str, location: str
) -> tuple[int, int]:
    """Return the span of the quote in its document, ignoring whitespace. Given offsets select one of its occurrences.

    A quote copied from a web page may have soft hyphens, and lack the "^" before a raised number.

    Raises DataError for a quote that the document lacks or, without offsets, contains several times, and for offsets at
    which the quote does not occur.
    """
    spans = _find_words(map(re.escape, quote.split()), text)
    spans = spans or _find_words(map(_pattern_of_copied, drop_word_breaks(quote).split()), text)
    if spans and (start is not None or end is not None):
        return _match_offsets(quote, document_id, (start, end), spans, location)
    if len(spans) != 1:
        instead = "give start and end" if start is None and end is None else "leave the quote out"
        what = f"contains it {len(spans)} times"
        if not spans and (letters := _normalize_letters(quote)) and letters in _normalize_letters(text):
            what += ", but has the same words with different punctuation, case or Unicode characters"
        remedy = "Make it longer" if spans else f"Copy it from the text as rag-grid read it{_nearest(quote, text)}"
        raise DataError(
            f"{location}: the quote {quote[:_N_SHOWN]!r} is from document {document_id!r}, which {what}, expected a "
            f"document of the corpus that contains the quote once. {remedy}, or {instead}."
        )
    return spans[0]


def _nearest(quote: str, text: str) -> str:
    """Return the part of a text that is most like a quote, for a message; "" if nothing is alike."""
    from rapidfuzz.fuzz import partial_ratio_alignment

    if max(len(quote), len(text)) > _MAX_COMPARED:
        return ""
    place = partial_ratio_alignment(quote, text, score_cutoff=_MIN_ALIKE)
    return f" (nearest: {text[place.dest_start : place.dest_end]!r})" if place and place.dest_end else ""


def _find_words(patterns: Iterable[str], text: str) -> list[tuple[int, int]]:
    expression = r"\s+".join(patterns)
    return [match.span() for match in re.finditer(expression, text)] if expression else []


def _pattern_of_copied(word: str) -> str:
    return "".join(rf"\^?{character}" if character.isdigit() else re.escape(character) for character in word)


def _normalize_letters(text: str) -> str:
    """Return only the letters and digits of a text, in one case and in Unicode's normal form."""
    return "".join(filter(is_word_character, unicodedata.normalize("NFKC", text).casefold()))


def _match_offsets(
    quote: str,
    document_id: str,
    offsets: tuple[int | None, int | None],
    spans: Sequence[tuple[int, int]],
    location: str,
) -> tuple[int, int]:
    """Return the span of the quote at the given offsets. Raises DataError if the quote is not there."""
    match = next((span for span in spans if span == offsets), None)
    if match is None:
        held = ", ".join(f"{start} to {end}" for start, end in spans[:3])
        raise DataError(
            f"{location}: gold of document {document_id!r} has start {offsets[0]} and end {offsets[1]}, but its quote "
            f"{quote[:_N_SHOWN]!r} is at {held}. Correct the offsets, or leave out the offsets or the quote."
        )
    return match
