"""From people's labels to what a judge is asked and should reply: nothing is rendered here, the judge itself asks, and
is answered as people would.
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
UNSAYABLE = "not applicable, which this judge cannot say"
REASON_UNREADABLE = "reason left out: the judge could not read the reply with it"
_N_SHOWN = 3


@dataclass(frozen=True)
class TrainingPair:
    """What a judge is asked about an item, and the reply that says what people say. `item` is its place among the
    labelled ones; `grade` is None where the judge asks, once per question, whether the metric applies.
    """

    item: int
    sample_id: str
    metric: str
    grade: int | None
    messages: tuple[Message, ...]
    reply: str

    @property
    def says(self) -> str:
        """The grade, or whether the metric applies."""
        if self.grade is not None:
            return str(self.grade)
        return "applies" if _meaning(self)["applicable"] else "does not apply"

    def as_json(self) -> dict[str, Json]:
        """In the conversational form of prompt and completion that trainers read."""
        return {
            "id": self.sample_id,
            "metric": self.metric,
            "grade": self.grade,
            "prompt": [{"role": message.role, "content": message.content} for message in self.messages],
            "completion": [{"role": "assistant", "content": self.reply}],
        }


@dataclass(frozen=True)
class TrainingPairs:
    """All pairs, each once; `n_left_out` are labels without one, and reasons left out, by why."""

    pairs: tuple[TrainingPair, ...]
    n_left_out: Counter[str] = field(default_factory=Counter)


class _AsPeople:
    """Asked in a model's place: gives one reply to everything, and notes what was asked."""

    def __init__(self, reply: dict[str, Json]) -> None:
        self._reply = json.dumps(reply, ensure_ascii=False)
        self.asked: list[tuple[tuple[Message, ...], str]] = []

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        self.asked += [(request.messages, self._reply) for request in requests]
        return [Answer(request.id, AnswerState.OK, self._reply) for request in requests]


class _Asked(NamedTuple):
    """What a judge asked before it graded and when it did, and whether it read the replies as people meant them."""

    first: _AsPeople
    then: _AsPeople
    is_read: bool


def pairs_of(graders: Iterable[Graded], items: Sequence[LabelledItem]) -> TrainingPairs:
    """One pair for each label, and where a judge asks that first, one for each question and metric that says whether
    the metric applies. Raises DataError where the same is asked twice and people say different things.
    """
    found: dict[tuple[str, tuple[Message, ...]], TrainingPair] = {}
    conflicts: dict[str, None] = {}
    n_left_out: Counter[str] = Counter()
    for grader in graders:
        for place, item in enumerate(items):
            for pair in _of_label(grader, place, item, n_left_out) if grader.name in item.labels else ():
                first = found.setdefault((pair.metric, pair.messages), pair)
                if _meaning(first) != _meaning(pair):
                    conflicts[_conflict(first, pair)] = None
    if conflicts:
        more = f" (and {len(conflicts) - _N_SHOWN} more)" if len(conflicts) > _N_SHOWN else ""
        raise DataError(
            f"labels disagree: {'; '.join(list(conflicts)[:_N_SHOWN])}{more}. Expected one label for what a judge is "
            "shown alike: let those who labelled it settle it, or remove these labels."
        )
    return TrainingPairs(tuple(found.values()), n_left_out)


def _of_label(grader: Graded, place: int, item: LabelledItem, n_left_out: Counter[str]) -> list[TrainingPair]:
    label, reason = item.labels[grader.name], item.reasons.get(grader.name, "").strip()
    if label == NOT_APPLICABLE and grader.not_applicable_grade is None and not grader.applicability:
        n_left_out[UNSAYABLE] += 1
        return []
    asked = _asked(grader, item, label, reason)
    if not asked.is_read and reason and (asked := _asked(grader, item, label, "")).is_read:
        n_left_out[REASON_UNREADABLE] += 1
    if not asked.is_read:
        n_left_out[SETTLED] += 1
        return []
    name = item.judged.sample.id
    return [
        *(TrainingPair(place, name, grader.name, None, *one) for one in asked.first.asked),
        *(TrainingPair(place, name, grader.name, _grade(grader, label), *one) for one in asked.then.asked),
    ]


def _asked(grader: Graded, item: LabelledItem, label: int, reason: str) -> _Asked:
    applies = label != NOT_APPLICABLE or grader.not_applicable_grade is not None
    first = _AsPeople({"reason": "" if applies else reason, "applicable": applies})
    then = _AsPeople({"reason": reason, "grade": _grade(grader, label)})
    preparation: JudgePreparation = grader.prepare([item.judged.sample], first)
    scores = grader.judge([item.judged], preparation, then).scores[grader.name]
    value = float(scores.values[0])
    is_read = (
        scores.states[0] is ScoreState.VALUE and round(value * max(grader.grades)) == label
        if label != NOT_APPLICABLE
        else scores.states[0] is ScoreState.NOT_APPLICABLE
    )
    last = then if applies else first
    return _Asked(first, then, is_read and len(last.asked) == 1)


def _grade(grader: Graded, label: int) -> int | None:
    return grader.not_applicable_grade if label == NOT_APPLICABLE else label


def _meaning(pair: TrainingPair) -> dict[str, Json]:
    """What a reply says, without its reason."""
    reply: dict[str, Json] = json.loads(pair.reply)
    return {name: value for name, value in reply.items() if name != "reason"}


def _conflict(first: TrainingPair, other: TrainingPair) -> str:
    about = (
        f"'{first.sample_id}'" if first.sample_id == other.sample_id else f"'{first.sample_id}', '{other.sample_id}'"
    )
    said = " and ".join(json.dumps(_meaning(pair)) for pair in (first, other))
    return f"{first.metric} of {about}: {said}"
