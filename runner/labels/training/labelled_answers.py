"""Completes labels with what a sweep knows about their answers, and groups questions that belong together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from components.errors import DataError
from components.json_value import Json
from components.records import Turn
from runner.console.styled_text import count
from runner.labels.label_files import LabelledItem
from runner.results import cell_folders, read_samples

_COLUMNS = ("id", "question", "references", "history", "cluster", "answer")
_N_SHOWN = 5


@dataclass(frozen=True)
class LabelledQuestion:
    """A sample of the sweep, and all answers that its cells gave. Samples of one `cluster` share gold documents or a
    conversation, directly or through others.
    """

    text: str
    references: tuple[str, ...]
    history: tuple[Turn, ...]
    cluster: int
    answers: set[str] = field(default_factory=set)


def read_labelled_questions(sweep_dir: Path, ids: Iterable[str]) -> dict[str, LabelledQuestion]:
    """Return the samples of a sweep with these ids, by id. Raises DataError if a file of the sweep cannot be read."""
    requested = set(ids)
    questions: dict[str, LabelledQuestion] = {}
    for folder in cell_folders(sweep_dir):
        for row in read_samples(folder, _COLUMNS):
            if row["id"] in requested:
                questions.setdefault(row["id"], _question(row)).answers.add(row["answer"] or "")
    return questions


def complete_items(items: Sequence[LabelledItem], questions: Mapping[str, LabelledQuestion]) -> list[LabelledItem]:
    """Return the items with the sweep's earlier turns, and with references and answers that they lack.

    An answer is added only if all cells gave the same one. Raises DataError for an id that the sweep does not have, for
    another question under the same id, and for an answer that no cell gave.
    """
    if unknown := [item.judged.sample.id for item in items if item.judged.sample.id not in questions]:
        raise DataError(
            f"the sweep does not have the labelled samples {_first_ids(unknown)}. Pass the sweep that was labelled."
        )
    return [_complete(item, questions[item.judged.sample.id]) for item in items]


def _complete(item: LabelledItem, question: LabelledQuestion) -> LabelledItem:
    sample = item.judged.sample
    if sample.question != question.text:
        raise DataError(
            f"item {sample.id!r}: the label has the question {sample.question[:80]!r}, and the sweep's sample with "
            f"this id has {question.text[:80]!r}. Pass the sweep that was labelled."
        )
    if item.has_answer and item.judged.answer not in question.answers:
        raise DataError(
            f"item {sample.id!r}: no cell of the sweep gave the answer {item.judged.answer[:80]!r}, expected one "
            f"of the sample's {count(len(question.answers), 'answer')}, unchanged"
        )
    completed_sample = replace(sample, references=sample.references or question.references, history=question.history)
    judged = replace(item.judged, sample=completed_sample)
    if item.has_answer or len(question.answers) > 1:
        return replace(item, judged=judged)
    (answer,) = question.answers
    return replace(item, judged=replace(judged, answer=answer), has_answer=True)


def _question(row: Mapping[str, Json]) -> LabelledQuestion:
    turns = tuple(Turn(turn["question"], turn["answer"]) for turn in json.loads(row["history"]))
    return LabelledQuestion(row["question"], tuple(row["references"]), turns, row["cluster"])


def _first_ids(ids: Sequence[str]) -> str:
    names = list(dict.fromkeys(ids))
    more = f" and {len(names) - _N_SHOWN} more" if len(names) > _N_SHOWN else ""
    return f"{', '.join(map(repr, names[:_N_SHOWN]))}{more}"
