"""Turns human labels into pairs of a judge's prompt and the expected reply.

Prompts are not rendered here. The judge itself writes them, and a stand-in for its model answers as the annotators did.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from components.errors import DataError
from components.json_value import Json
from components.judges.graded import Graded
from components.protocols import JudgePreparation
from components.records import Answer, AnswerState, Message, Request, ScoreState
from runner.labels.label_files import NOT_APPLICABLE, LabelledItem

SETTLED = "graded without asking, or passage by passage"
UNSAYABLE = "not applicable, a verdict that this judge cannot give"
REASON_UNREADABLE = "reason left out: the judge could not read the reply with it"
_N_SHOWN = 3


@dataclass(frozen=True)
class TrainingPair:
    """A prompt of a judge about an item, and the reply that states the human label.

    `item` is its index among the labelled items. `grade` is None for the question whether the metric applies, which
    some judges ask once per question.
    """

    item: int
    sample_id: str
    metric: str
    grade: int | None
    messages: tuple[Message, ...]
    reply: str

    @property
    def says(self) -> str:
        """Format the grade, or "does not apply"."""
        if self.grade is not None:
            return str(self.grade)
        return "applies" if _meaning(self)["applicable"] else "does not apply"

    def as_json(self) -> dict[str, Json]:
        """Return the pair as a conversation with prompt and completion, the form that trainers read."""
        return {
            "id": self.sample_id,
            "metric": self.metric,
            "grade": self.grade,
            "prompt": [{"role": message.role, "content": message.content} for message in self.messages],
            "completion": [{"role": "assistant", "content": self.reply}],
        }


@dataclass(frozen=True)
class TrainingPairs:
    """All pairs, each once. `n_left_out` counts labels without a pair, and omitted reasons, by cause."""

    pairs: tuple[TrainingPair, ...]
    n_left_out: Counter[str] = field(default_factory=Counter)


class _LabelReplies:
    """Stands in for a model: returns one reply to every request, and records the requests."""

    def __init__(self, reply: dict[str, Json]) -> None:
        self._reply = json.dumps(reply, ensure_ascii=False)
        self.asked: list[tuple[tuple[Message, ...], str]] = []

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        self.asked += [(request.messages, self._reply) for request in requests]
        return [Answer(request.id, AnswerState.OK, self._reply) for request in requests]


class _Requests(NamedTuple):
    """The requests of a judge before grading and while grading, and whether it parsed each reply to the grade that
    people gave.
    """

    first: _LabelReplies
    then: _LabelReplies
    is_read: bool


def make_pairs(graders: Iterable[Graded], items: Sequence[LabelledItem]) -> TrainingPairs:
    """Return a pair for each label, and a pair for each question and metric if the judge first asks whether the metric
    applies.

    Raises DataError if human labels for the same prompt differ.
    """
    pairs: dict[tuple[str, tuple[Message, ...]], TrainingPair] = {}
    conflicts: dict[str, None] = {}
    n_left_out: Counter[str] = Counter()
    for grader in graders:
        for index, item in enumerate(items):
            for pair in _label_pairs(grader, index, item, n_left_out) if grader.name in item.labels else ():
                first = pairs.setdefault((pair.metric, pair.messages), pair)
                if _meaning(first) != _meaning(pair):
                    conflicts[_conflict(first, pair)] = None
    if conflicts:
        more = f" (and {len(conflicts) - _N_SHOWN} more)" if len(conflicts) > _N_SHOWN else ""
        raise DataError(
            f"labels disagree: {'; '.join(list(conflicts)[:_N_SHOWN])}{more}, expected one label for each prompt "
            "of the judge: have the annotators agree on one, or remove these labels"
        )
    return TrainingPairs(tuple(pairs.values()), n_left_out)


def _label_pairs(grader: Graded, index: int, item: LabelledItem, n_left_out: Counter[str]) -> list[TrainingPair]:
    label, reason = item.labels[grader.name], item.reasons.get(grader.name, "").strip()
    if label == NOT_APPLICABLE and grader.not_applicable_grade is None and not grader.applicability:
        n_left_out[UNSAYABLE] += 1
        return []
    requests = _make_requests(grader, item, label, reason)
    if not requests.is_read and reason and (requests := _make_requests(grader, item, label, "")).is_read:
        n_left_out[REASON_UNREADABLE] += 1
    if not requests.is_read:
        n_left_out[SETTLED] += 1
        return []
    name = item.judged.sample.id
    return [
        *(TrainingPair(index, name, grader.name, None, *one) for one in requests.first.asked),
        *(TrainingPair(index, name, grader.name, _grade(grader, label), *one) for one in requests.then.asked),
    ]


def _make_requests(grader: Graded, item: LabelledItem, label: int, reason: str) -> _Requests:
    applies = label != NOT_APPLICABLE or grader.not_applicable_grade is not None
    first = _LabelReplies({"reason": "" if applies else reason, "applicable": applies})
    then = _LabelReplies({"reason": reason, "grade": _grade(grader, label)})
    preparation: JudgePreparation = grader.prepare([item.judged.sample], first)
    scores = grader.judge([item.judged], preparation, then).scores[grader.name]
    value = float(scores.values[0])
    is_read = (
        scores.states[0] is ScoreState.VALUE and round(value * max(grader.grades)) == label
        if label != NOT_APPLICABLE
        else scores.states[0] is ScoreState.NOT_APPLICABLE
    )
    last = then if applies else first
    return _Requests(first, then, is_read and len(last.asked) == 1)


def _grade(grader: Graded, label: int) -> int | None:
    return grader.not_applicable_grade if label == NOT_APPLICABLE else label


def _meaning(pair: TrainingPair) -> dict[str, Json]:
    """Return the content of a reply without its reason."""
    reply: dict[str, Json] = json.loads(pair.reply)
    return {name: value for name, value in reply.items() if name != "reason"}


def _conflict(first: TrainingPair, other: TrainingPair) -> str:
    about = (
        f"{first.sample_id!r}" if first.sample_id == other.sample_id else f"{first.sample_id!r}, {other.sample_id!r}"
    )
    replies = " and ".join(json.dumps(_meaning(pair)) for pair in (first, other))
    return f"{first.metric} of {about}: {replies}"
