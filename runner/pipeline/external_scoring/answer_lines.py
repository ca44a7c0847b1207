"""Reads the input of `python -m runner.score`: answers or rankings of any system, one JSON object per line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.clusters import component_ids
from components.datasets.answer_fields import read_answerable, read_answers
from components.datasets.json_fields import Record, as_list, as_record, optional_texts, read_records, required_text
from components.errors import DataError
from components.records import MAX_GRADE

_EXPECTED = (
    'one JSON object per line: {"id", "prediction", "references"}, {"id", "ranking", "relevant"} or '
    '{"id", "answers_reference", "answers_generated"}, or several of these in one'
)


@dataclass(frozen=True)
class AnswerLine:
    """A prediction with its references, and other fields of the right answer (see `Sample`).

    A prediction of None is a failed answer.
    """

    prediction: str | None
    references: tuple[str, ...]
    answer_parts: tuple[tuple[str, ...], ...] = ()
    answerable: bool = True
    fake_answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class RankingLine:
    """Distinct document ids, best first, and the grades (> 0) of the relevant documents: 1 if the line has a list."""

    ranking: tuple[str, ...]
    relevant: Mapping[str, int]


@dataclass(frozen=True)
class QuestLine:
    """Answers to the same questions, from the reference and from the generated text."""

    answers_reference: tuple[str, ...]
    answers_generated: tuple[str, ...]


@dataclass(frozen=True)
class ScoreLine:
    """One line: its id and its parts, None for a missing part. `cluster` names a group of dependent lines."""

    id: str
    answer: AnswerLine | None
    ranking: RankingLine | None
    quest: QuestLine | None
    cluster: str | None


def read_lines(file: Path) -> list[ScoreLine]:
    """Read all non-blank lines. Raises DataError, which names the line, for invalid lines and duplicate ids."""
    lines: dict[str, ScoreLine] = {}
    for location, record in read_records(file, _EXPECTED):
        line = _line(record, location)
        if line.id in lines:
            raise DataError(f"{location}: the id {line.id!r} occurs twice. Ids must be unique. Remove or rename one.")
        lines[line.id] = line
    if not lines:
        raise DataError(f"{file}: contains no line, expected {_EXPECTED}")
    return list(lines.values())


def line_clusters(lines: Sequence[ScoreLine]) -> NDArray[np.int64]:
    """Return the group of dependent lines of each line, int64[n_lines].

    `cluster` names a line's group. Lines without it are connected by their relevant documents. A line with neither
    forms a group alone.
    """
    return component_ids([_links(line) for line in lines])


def _links(line: ScoreLine) -> list[tuple[str, str]]:
    if line.cluster is not None:
        return [("cluster", line.cluster)]
    return [("document", name) for name in line.ranking.relevant] if line.ranking else []


def _line(record: Record, location: str) -> ScoreLine:
    return ScoreLine(
        id=required_text(record, "id", location),
        answer=_answer(record, location) if "prediction" in record else None,
        ranking=_ranking(record, location) if "ranking" in record else None,
        quest=_quest(record, location) if "answers_generated" in record else None,
        cluster=required_text(record, "cluster", location) if record.get("cluster") is not None else None,
    )


def _answer(record: Record, location: str) -> AnswerLine:
    if not {"answer_parts", "answerable"} & record.keys():
        _require(record, "references", "prediction", location)
    prediction = None if record["prediction"] is None else required_text(record, "prediction", location)
    references, parts = read_answers(record, location)
    fakes = optional_texts(record, "fake_answers", location)
    return AnswerLine(prediction, references, parts, read_answerable(record, location), fakes)


def _ranking(record: Record, location: str) -> RankingLine:
    _require(record, "relevant", "ranking", location)
    ranking = tuple(
        _text(item, "ranking", location) for item in as_list(record["ranking"], f"{location}, field 'ranking'")
    )
    if len(set(ranking)) < len(ranking):
        twice = next(item for item in ranking if ranking.count(item) > 1)
        raise DataError(f"{location}, field 'ranking': got {twice!r} twice, expected distinct document ids, best first")
    relevant = record["relevant"]
    if isinstance(relevant, list):
        relevant = {_text(item, "relevant", location): 1 for item in relevant}
    grades = as_record(relevant, f"{location}, field 'relevant'")
    return RankingLine(
        ranking, {name: grade for name, value in grades.items() if (grade := _grade(value, location)) > 0}
    )


def _quest(record: Record, location: str) -> QuestLine:
    _require(record, "answers_reference", "answers_generated", location)
    reference, generated = (
        tuple(_text(item, name, location) for item in as_list(record[name], f"{location}, field '{name}'"))
        for name in ("answers_reference", "answers_generated")
    )
    return QuestLine(reference, generated)


def _require(record: Record, name: str, beside: str, location: str) -> None:
    if name not in record:
        raise DataError(
            f"{location}: has '{beside}' and no '{name}', expected both. Its fields are: {', '.join(record)}."
        )


def _text(item: object, name: str, location: str) -> str:
    if not isinstance(item, str):
        raise DataError(f"{location}, field '{name}': got {item!r} ({type(item).__name__}), expected a list of strings")
    return item


def _grade(value: object, location: str) -> int:
    if not isinstance(value, int) or abs(value) > MAX_GRADE:
        raise DataError(
            f"{location}, field 'relevant': got the grade {value!r}, expected a whole number of at most {MAX_GRADE}"
        )
    return int(value)
