"""Has a judge grade the answers that annotators labelled."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.clusters import component_ids
from components.judges.graded import Graded
from components.records import ScoreState
from runner.engine.model_replies import build_asker
from runner.engine.store import Store
from runner.labels.label_files import NOT_APPLICABLE, LabelledItem
from runner.pipeline.scoring.judging import judge_purpose


@dataclass(frozen=True)
class Rating:
    """A label of an `answer` and the judge's grade, None if its request failed.

    `question` is the number of the question. Two answers to one question are not independent.
    """

    item_id: str
    answer: str
    question: int
    metric: str
    label: str
    judged: str | None
    remark: str


def number_questions(items: Sequence[LabelledItem]) -> list[int]:
    """Return the number of each item's question. Items with the same id or the same words have the same number."""
    samples = [item.judged.sample for item in items]
    return [int(question) for question in component_ids([[("id", sample.id), sample.question] for sample in samples])]


def rate_items(grader: Graded, items: Sequence[LabelledItem], store: Store) -> list[Rating]:
    """Return the judge's grade of every item that has a label of its metric. Replies are stored."""
    labelled = [
        (item, question)
        for item, question in zip(items, number_questions(items), strict=True)
        if grader.name in item.labels
    ]
    ask = build_asker(grader.llm, judge_purpose(grader), store)
    prepared = grader.prepare([item.judged.sample for item, _ in labelled], ask)
    judgements = grader.judge([item.judged for item, _ in labelled], prepared, ask)
    scores = judgements.scores[grader.name]
    return [
        Rating(
            item.judged.sample.id,
            item.judged.answer,
            question,
            grader.name,
            _class(ScoreState.NOT_APPLICABLE if label == NOT_APPLICABLE else ScoreState.VALUE, label),
            None
            if state is ScoreState.FAILED
            else _class(state, round(value * max(grader.grades)) if value == value else 0),
            remark,
        )
        for (item, question), state, value, remark in zip(
            labelled, scores.states, scores.values.tolist(), judgements.remarks, strict=True
        )
        for label in [item.labels[grader.name]]
    ]


def _class(state: ScoreState, grade: int) -> str:
    """Return the grade, or the state of a missing grade. So unreadable replies form a separate class, which never
    agrees with a label.
    """
    return str(grade) if state is ScoreState.VALUE else state.value
