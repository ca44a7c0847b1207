"""The answers of a sweep that people labelled: what their labels leave out, and which questions belong together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from components.errors import DataError
from components.json_value import Json
from components.records import Turn
from runner.labels.label_files import LabelledItem
from runner.results import cell_folders, read_samples

_COLUMNS = ("id", "question", "references", "history", "cluster", "answer")
_N_SHOWN = 5


@dataclass(frozen=True)
class LabelledQuestion:
    """A sample of the sweep, and every answer that its cells gave. Samples of one `cluster` share gold documents or a
    conversation, directly or by way of others.
    """

    text: str
    references: tuple[str, ...]
    history: tuple[Turn, ...]
    cluster: int
    answers: set[str] = field(default_factory=set)


def questions_in(sweep_dir: Path, ids: Iterable[str]) -> dict[str, LabelledQuestion]:
    """By id, those of a sweep's samples that are wanted. Raises DataError."""
    wanted = set(ids)
    found: dict[str, LabelledQuestion] = {}
    for folder in cell_folders(sweep_dir):
        for row in read_samples(folder, _COLUMNS):
            if row["id"] in wanted:
                found.setdefault(row["id"], _question(row)).answers.add(row["answer"] or "")
    return found


def completed(items: Sequence[LabelledItem], questions: Mapping[str, LabelledQuestion]) -> list[LabelledItem]:
    """The items with what the sweep knows of their questions: the earlier turns, references where they bring none, and
    the answer, where the sweep gave a single one and they bring none. Raises DataError for an id that is no sample of
    the sweep, or one of another question, and for an answer that no cell gave.
    """
    if unknown := [item.judged.sample.id for item in items if item.judged.sample.id not in questions]:
        raise DataError(f"{_some(unknown)}: no samples of the sweep. Expected: labels with the ids of its samples.")
    return [_completed(item, questions[item.judged.sample.id]) for item in items]


def _completed(item: LabelledItem, question: LabelledQuestion) -> LabelledItem:
    sample = item.judged.sample
    if sample.question != question.text:
        raise DataError(
            f"item '{sample.id}': the question {sample.question[:80]!r} came, and the sweep's sample of this id asks "
            f"{question.text[:80]!r}. Expected: the labels of this sweep, or the sweep of these labels."
        )
    if item.has_answer and item.judged.answer not in question.answers:
        raise DataError(
            f"item '{sample.id}': no cell of the sweep gave the answer {item.judged.answer[:80]!r}. Expected: one "
            f"of its {len(question.answers)} answers, unchanged."
        )
    known = replace(sample, references=sample.references or question.references, history=question.history)
    judged = replace(item.judged, sample=known)
    if item.has_answer or len(question.answers) > 1:
        return replace(item, judged=judged)
    (answer,) = question.answers
    return replace(item, judged=replace(judged, answer=answer), has_answer=True)


def _question(row: Mapping[str, Json]) -> LabelledQuestion:
    turns = tuple(Turn(turn["question"], turn["answer"]) for turn in json.loads(row["history"]))
    return LabelledQuestion(row["question"], tuple(row["references"]), turns, row["cluster"])


def _some(ids: Sequence[str]) -> str:
    names = list(dict.fromkeys(ids))
    more = f" and {len(names) - _N_SHOWN} more" if len(names) > _N_SHOWN else ""
    return f"{', '.join(map(repr, names[:_N_SHOWN]))}{more}"
