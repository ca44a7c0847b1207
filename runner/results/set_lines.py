"""Documents and samples of a test set as lines of JSON, in the format of `dataset=jsonl`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from components.datasets.json_fields import (
    Record,
    as_list,
    as_record,
    optional_text,
    optional_texts,
    required_id,
    required_text,
)
from components.errors import DataError
from components.json_value import Json
from components.limits import expected_one_of
from components.records import Documents, Evidence, Kind, Sample, Turn

_FIELDS = (
    "id", "question", "references", "gold", "subset", "topic", "task", "kind", "history", "provenance",
)  # fmt: skip


def encode_line(fields: Mapping[str, Json]) -> bytes:
    """Return one line in UTF-8. Raises DataError for a lone surrogate, which UTF-8 cannot encode."""
    try:
        return (json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError as error:
        preceding = error.object[max(0, error.start - 20) : error.start]
        raise DataError(f"got a lone surrogate after {preceding!r}, expected text in UTF-8") from error


def document_lines(documents: Documents) -> Iterator[dict[str, Json]]:
    """Yield the fields of each document, in order."""
    metadata = documents.metadata or [{}] * len(documents)
    for name, title, text, facts in zip(documents.ids, documents.titles, documents.texts, metadata, strict=True):
        yield {"id": name, "title": title, "text": text, "metadata": dict(facts)}


def sample_line(sample: Sample) -> dict[str, Json]:
    """Return the fields of a sample, without provenance."""
    return {
        "id": sample.id,
        "question": sample.question,
        "references": list(sample.references),
        "gold": gold_fields(sample.gold),
        "subset": sample.subset,
        "topic": sample.topic or None,
        "task": sample.task or None,
        "kind": sample.kind.value,
        "history": [{"question": turn.question, "answer": turn.answer} for turn in sample.history],
    }


def gold_fields(gold: Iterable[Evidence]) -> list[dict[str, Json]]:
    """Return the fields of gold units. A whole document has no start and end, and a grade of 1 is left out."""
    units = []
    for unit in gold:
        span = {} if unit.start is None else {"start": unit.start, "end": unit.end}
        units.append({"document": unit.document_id, **span, **({"grade": unit.grade} if unit.grade > 1 else {})})
    return units


def read_sample(record: Record, location: str) -> tuple[Sample, Mapping[str, Json]]:
    """Return a sample and its provenance.

    Raises DataError for missing or invalid fields, and for unknown ones, which would be lost in the next version.
    """
    if unknown := [name for name in record if name not in _FIELDS]:
        raise DataError(f"{location}: unknown field '{unknown[0]}'{expected_one_of(unknown[0], _FIELDS)}")
    kind = optional_text(record, "kind", location) or Kind.QA
    if kind not in list(Kind):
        raise DataError(f"{location}: got kind {kind!r}{expected_one_of(kind, list(Kind))}")
    sample = Sample(
        id=required_id(record, location),
        subset=required_text(record, "subset", location),
        kind=Kind(kind),
        question=required_text(record, "question", location),
        references=optional_texts(record, "references", location),
        gold=tuple(_unit(unit, f"{location}, field 'gold'") for unit in as_list(record.get("gold") or [], location)),
        topic=optional_text(record, "topic", location) or None,
        task=optional_text(record, "task", location) or None,
        history=tuple(
            _turn(turn, f"{location}, field 'history'") for turn in as_list(record.get("history") or [], location)
        ),
    )
    return sample, as_record(record.get("provenance") or {}, location)


def _turn(turn: object, location: str) -> Turn:
    record = as_record(turn, location)
    return Turn(required_text(record, "question", location), required_text(record, "answer", location))


def _unit(unit: object, location: str) -> Evidence:
    record = as_record(unit, location)
    numbers = {name: record[name] for name in ("start", "end", "grade") if record.get(name) is not None}
    if ("start" in numbers) != ("end" in numbers) or any(type(number) is not int for number in numbers.values()):
        raise DataError(
            f"{location}: got {unit!r}, expected whole numbers for start and end (both or neither) and grade"
        )
    return Evidence(required_text(record, "document", location), **cast("dict[str, int]", numbers))
