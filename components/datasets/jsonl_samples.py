"""A user's questions, one JSON object per line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from components.datasets.answer_fields import read_answerable, read_answers
from components.datasets.conditions import read_conditions
from components.datasets.given_passages import GivenPassages
from components.datasets.gold_fields import join_units, read_gold
from components.datasets.json_fields import (
    Record,
    as_list,
    optional_text,
    optional_texts,
    read_records,
    required_id,
    required_text,
)
from components.datasets.missing_documents import MissingDocuments
from components.errors import DataError, read_each
from components.limits import closest_name, expected_one_of
from components.records import Documents, Evidence, Kind, Sample, Turn
from components.subsets import UNNAMED
from components.text.slugs import make_slugs

_EXPECTED = 'questions as JSON Lines, {"id", "question"} and more'
_FIELDS = (
    "id", "question", "references", "answer_parts", "answerable", "fake_answers", "gold", "gold_any", "passages",
    "subset", "topic", "task", "history", "kind", "conditions", "expansion",
)  # fmt: skip
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods")
_ORIGIN = "provenance"
"""The field that a generated test set adds. Only the commands of test sets read it."""
_OTHER_NAMES = {"answer": "references", "answers": "references", "reference": "references", "query": "question"}


@dataclass(frozen=True)
class OwnSamples:
    """The samples in the order of the file, labels of subsets, topics and tasks, and counts for the notes.

    `passages` are the passages of the samples that are not yet documents of the corpus.
    """

    samples: Sequence[Sample]
    labels: Mapping[str, str]
    counts: Mapping[str, int | float | str]
    passages: Documents


def read_samples(file: Path, texts: Mapping[str, str], not_read: str = "") -> OwnSamples:
    """Read all lines. `texts` are the documents' texts by id, in which quotes are located. `not_read` describes files
    that were not read, for errors; "" for none.

    A sample has `id` and `question`. It may have

    - `gold`, `gold_any`: the evidence; see `read_gold`;
    - `passages`: passages given with the question; see `GivenPassages`. Relevant passages are alternatives;
    - `references`, `answer_parts`: the correct answer; see `read_answers`;
    - `fake_answers`: false answers that misleading passages give;
    - `answerable`: false if the documents do not answer the question;
    - `history`: earlier turns, a list of {"question", "answer"};
    - `conditions`: conditions on the metadata of the documents to find; see `read_conditions`;
    - `expansion`: a text that an expander may search for instead of the question;
    - `kind`: a `Kind`, by default qa, or conversation with a history;
    - `subset`, `topic`, `task`: free text, which becomes the label of a slug (for a subset, of a path of slugs).

    Unknown fields are ignored and named in the notes, unless they look like a misspelling of a known field. Raise one
    DataError with the file and line of every error.
    """
    if file.suffix.lower() in _TABLES:
        raise DataError(
            f"{file}: is a table, expected {_EXPECTED}. Convert it, from Excel after saving it as CSV: "
            f"python -m runner.datasets table {file.with_suffix('.csv').name} --question COLUMN --out questions.jsonl"
        )
    lines = list(read_records(file, _EXPECTED))
    ignored = {name for names in read_each(lambda line: _unknown_fields(line[1], line[0]), lines) for name in names}
    slugs = {
        field: field_slugs(optional_text(record, field, location) for location, record in lines)
        for field, field_slugs in (("subset", path_slugs), ("topic", make_slugs), ("task", make_slugs))
    }
    reader = GivenPassages(texts)
    missing = MissingDocuments(texts, not_read)
    samples = read_each(lambda line: _sample(line[1], slugs, texts, missing, reader, line[0]), lines)
    labels = {slug: name for field_slugs in slugs.values() for name, slug in field_slugs.items() if slug != name}
    counts: dict[str, int | float | str] = {
        "n_fields_left_aside": len(ignored),
        "fields_left_aside": ", ".join(sorted(ignored)),
        "n_samples_unanswerable": sum(not sample.answerable for sample in samples),
        "n_passages_added": len(reader.added),
    }
    return OwnSamples(samples, labels, counts, reader.added)


def path_slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a path of slugs for every name and every group above it.

    Names are split at slashes, and blank parts are dropped.
    """
    groups = {group for name in names for group in accumulate(name.split("/"), "{}/{}".format) if group.strip("/ ")}
    part_slugs = make_slugs({part for group in groups for part in group.split("/")})
    return {
        group: "/".join(part_slugs[part] for part in group.split("/") if part in part_slugs) for group in sorted(groups)
    }


def _unknown_fields(record: Record, location: str) -> list[str]:
    """Return the unknown fields of a record. Raises DataError for a field that looks like a misspelling."""
    unknown = [name for name in record if name not in (*_FIELDS, _ORIGIN)]
    for name in unknown:
        meant = _OTHER_NAMES.get(name) or closest_name(name.strip().lower(), _FIELDS, cutoff=0.8)
        if meant and meant not in record:
            raise DataError(
                f"{location}: unknown field '{name}', expected one of {', '.join(_FIELDS)}; did you mean {meant}?"
            )
    return unknown


def _sample(
    record: Record,
    slugs: Mapping[str, Mapping[str, str]],
    texts: Mapping[str, str],
    missing: MissingDocuments,
    reader: GivenPassages,
    location: str,
) -> Sample:
    turns = as_list(record.get("history") or [], f"{location}, field 'history'")
    history = tuple(_turn(turn, f"{location}, field 'history'") for turn in turns)
    slug = {
        field: field_location.get(optional_text(record, field, location)) for field, field_location in slugs.items()
    }
    gold = read_gold(record, texts, missing, location)
    references, answer_parts = read_answers(record, location)
    passages, relevant = reader.read(record, location)
    named = {unit.document_id for alternatives in gold for unit in alternatives}
    added = [[Evidence(an_id) for an_id in alternatives if an_id not in named] for alternatives in relevant]
    return Sample(
        id=required_id(record, location),
        subset=slug["subset"] or UNNAMED,
        kind=_kind(optional_text(record, "kind", location), bool(history), location),
        question=required_text(record, "question", location),
        references=references,
        gold=join_units([*gold, *added]),
        topic=slug["topic"],
        task=slug["task"],
        history=history,
        answer_parts=answer_parts,
        answerable=read_answerable(record, location),
        passages=passages,
        conditions=read_conditions(record, location),
        expansion=optional_text(record, "expansion", location).strip(),
        fake_answers=optional_texts(record, "fake_answers", location),
    )


def _turn(turn: object, location: str) -> Turn:
    if not isinstance(turn, dict) or "question" not in turn:
        raise DataError(f'{location}: got {turn!r}, expected {{"question", "answer"}}')
    return Turn(required_text(turn, "question", location), optional_text(turn, "answer", location))


def _kind(name: str, has_history: bool, location: str) -> Kind:
    if not name:
        return Kind.CONVERSATION if has_history else Kind.QA
    try:
        return Kind(name)
    except ValueError as error:
        raise DataError(f"{location}: got kind {name!r}{expected_one_of(name, list(Kind))}") from error
