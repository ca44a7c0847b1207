"""What a judge says of the answers that people labelled."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.clusters import connected
from components.judges.graded import Graded
from components.records import ScoreState
from runner.engine.ask import Asker, replies_key
from runner.engine.store import Store
from runner.labels.label_files import NOT_APPLICABLE, LabelledItem
from runner.pipeline.scoring.judging import purpose_of


@dataclass(frozen=True)
class Rated:
    """One label of an `answer` and what the judge said; `judged` is None where its request failed. `question` is the
    number of the question that was answered: two answers to one are not independent.
    """

    item_id: str
    answer: str
    question: int
    metric: str
    label: str
    judged: str | None
    remark: str


def questions_of(items: Sequence[LabelledItem]) -> list[int]:
    """The number of each item's question: items with the same id or the same words have the same one."""
    samples = [item.judged.sample for item in items]
    return [int(question) for question in connected([[("id", sample.id), sample.question] for sample in samples])]


def rate(grader: Graded, items: Sequence[LabelledItem], store: Store) -> list[Rated]:
    """What the judge says about every item that has a label of its metric; replies are kept in the store."""
    labelled = [
        (item, question)
        for item, question in zip(items, questions_of(items), strict=True)
        if grader.name in item.labels
    ]
    replies = store.replies(replies_key(grader.llm, purpose_of(grader)))
    ask = Asker(grader.llm, replies, lambda done, total: None)
    prepared = grader.prepare([item.judged.sample for item, _ in labelled], ask)
    judgements = grader.judge([item.judged for item, _ in labelled], prepared, ask)
    scores = judgements.scores[grader.name]
    return [
        Rated(
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
    """A grade, or the state in its place: an unreadable reply is a class of its own, which never agrees."""
    return str(grade) if state is ScoreState.VALUE else state.value
