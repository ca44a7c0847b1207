"""The contract of every judged metric. A test inherits the suite and provides `metric` and the replies of its judge."""

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from components.protocols import JudgedMetric
from components.records import (
    Answer,
    AnswerState,
    JudgeInput,
    Judgements,
    Kind,
    Request,
    Sample,
    Scores,
    ScoreState,
    Turn,
)
from tests.contracts.metric_contract import N_SAMPLES, MetricContract
from tests.contracts.passages import make_passages

_REFERENCES = (("杭州",), ("北京", "北京市"), (), ("12人，其中3人获奖",), ("巴黎{answer}",), ("1420年",))
_ANSWERS = ("在杭州{question}。", "上海", "没有参考答案", "", "巴黎", "建成于1420年")
_PASSAGES = (
    ("西湖在杭州。",),
    ("北京举行会议。", "{passage}上海"),
    ("甲",),
    ("共12人。",),
    (),
    ("故宫建成于1420年。", "乙"),
)

JUDGED = tuple(
    JudgeInput(Sample(f"s{i}", "qa", Kind.QA, f"问题{i}？", references), answer, make_passages(*passages))
    for i, (references, answer, passages) in enumerate(zip(_REFERENCES, _ANSWERS, _PASSAGES, strict=True))
)
NOTHING = JudgeInput(Sample("nothing", "qa", Kind.QA, "问题？", ()), "", ())


class ScriptedJudge:
    """An `Ask` that replies by a script, and records the requests of each call."""

    def __init__(self, reply: Callable[[Request], str | Answer]) -> None:
        self._reply = reply
        self.calls: list[list[Request]] = []

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        assert requests, "a judge without questions must not ask"
        assert len({request.id for request in requests}) == len(requests), "ids are unique in one call"
        self.calls.append(list(requests))
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        reply = self._reply(request)
        return replace(reply, request_id=request.id) if isinstance(reply, Answer) else ok(reply, request.id)

    @property
    def requests(self) -> list[Request]:
        """All requests in the order in which they came."""
        return [request for call in self.calls for request in call]


def ok(text: str, request_id: str = "") -> Answer:
    """A reply."""
    return Answer(request_id, AnswerState.OK, text)


def failed(_: Request) -> Answer:
    """The script of a model that cannot be reached."""
    return Answer("", AnswerState.ERROR, error="no connection")


def samples_of(judged: Sequence[JudgeInput]) -> list[Sample]:
    return [item.sample for item in judged]


class JudgeContract(MetricContract):
    """Contract of judged metrics. `max_attempts` of the metric must be at least 2."""

    metric: JudgedMetric

    @abstractmethod
    def reply(self, request: Request) -> str:
        """Return a valid reply to any request of the metric, based only on its content."""

    def judge(self, judged: Sequence[JudgeInput]) -> Judgements:
        preparation = self.metric.prepare(samples_of(judged), ScriptedJudge(self.reply))
        return self.metric.judge(judged, preparation, ScriptedJudge(self.reply))

    def judge_with(self, script: Callable[[Request], str | Answer]) -> tuple[Judgements, ScriptedJudge]:
        """Prepare with valid replies, then judge with a scripted model."""
        ask = ScriptedJudge(script)
        preparation = self.metric.prepare(samples_of(JUDGED), ScriptedJudge(self.reply))
        return self.metric.judge(JUDGED, preparation, ask), ask

    def score(self, n_samples: int) -> dict[str, Scores]:
        return dict(self.judge(JUDGED[:n_samples]).scores)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.metric, JudgedMetric)

    def test_judge_gives_a_nonempty_remark_per_sample(self) -> None:
        remarks = self.judge(JUDGED).remarks
        assert len(remarks) == N_SAMPLES
        assert all(remarks)

    def test_judge_requests_are_chats_with_a_json_schema(self) -> None:
        ask = ScriptedJudge(self.reply)
        self.metric.judge(JUDGED, self.metric.prepare(samples_of(JUDGED), ask), ask)
        assert ask.requests
        for request in ask.requests:
            assert [message.role for message in request.messages][-1] == "user"
            assert all(message.content for message in request.messages)
            assert request.json_schema is not None
            assert json.loads(json.dumps(request.json_schema))["type"] == "object"

    def test_judge_preparation_survives_json(self) -> None:
        preparation = self.metric.prepare(samples_of(JUDGED), ScriptedJudge(self.reply))
        stored = json.loads(json.dumps(preparation))
        assert stored == preparation
        again = self.metric.judge(JUDGED, stored, ScriptedJudge(self.reply))
        assert again.remarks == self.judge(JUDGED).remarks

    def test_judge_sends_no_request_without_samples(self) -> None:
        ask = ScriptedJudge(self.reply)
        judgements = self.metric.judge([], self.metric.prepare([], ask), ask)
        assert ask.calls == []
        assert list(judgements.remarks) == []

    def test_judge_sends_no_request_about_an_empty_answer(self) -> None:
        ask = ScriptedJudge(self.reply)
        judgements = self.metric.judge([NOTHING], self.metric.prepare([NOTHING.sample], ask), ask)
        assert ask.calls == []
        assert {scores.states for scores in judgements.scores.values()} == {(ScoreState.NOT_APPLICABLE,)}

    def test_judge_scores_do_not_depend_on_the_order_of_samples(self) -> None:
        forwards, backwards = self.judge(JUDGED), self.judge(JUDGED[::-1])
        assert list(backwards.remarks) == list(forwards.remarks)[::-1]
        for name in self.metric.names:
            assert backwards.scores[name].states == forwards.scores[name].states[::-1]
            np.testing.assert_array_equal(backwards.scores[name].values, forwards.scores[name].values[::-1])

    def test_judge_without_reads_answers_ignores_answers(self) -> None:
        seen = []
        for answer in ("甲说法", "乙说法"):
            ask = ScriptedJudge(self.reply)
            others = [replace(item, answer=answer) for item in JUDGED]
            self.metric.judge(others, self.metric.prepare(samples_of(others), ScriptedJudge(self.reply)), ask)
            seen.append([request.messages for request in ask.requests])
        assert (seen[0] != seen[1]) == self.metric.reads_answers

    def test_judge_shows_earlier_turns_with_the_question(self) -> None:
        talk = replace(JUDGED[0].sample, kind=Kind.CONVERSATION, history=(Turn("先问什么？", "先答什么。"),))
        ask = ScriptedJudge(self.reply)
        preparation = self.metric.prepare([talk], ask)
        self.metric.judge([replace(JUDGED[0], sample=talk)], preparation, ask)
        for text in (request.messages[-1].content for request in ask.requests):
            assert (talk.question in text) == ("先问什么？" in text) == ("先答什么。" in text)

    def test_failed_judge_requests_are_sent_once_and_scored_as_failed(self) -> None:
        good = self.judge(JUDGED)
        judgements, ask = self.judge_with(failed)
        assert 1 <= len(ask.calls) <= getattr(self.metric, "n_rounds", 1)
        asked = {request.sample.id for request in ask.requests}
        for name, scores in judgements.scores.items():
            for item, state, before in zip(JUDGED, scores.states, good.scores[name].states, strict=True):
                assert state is (ScoreState.FAILED if item.sample.id in asked else before)

    def test_unreadable_judge_replies_are_retried_then_unparsable(self) -> None:
        judgements, ask = self.judge_with(lambda _: "I would rather not say.")
        max_attempts: int = self.metric.max_attempts  # type: ignore[attr-defined]
        assert 1 < max_attempts <= len(ask.calls) <= max_attempts * getattr(self.metric, "n_rounds", 1)
        asked = {request.sample.id for request in ask.requests}
        for scores in judgements.scores.values():
            for item, state in zip(JUDGED, scores.states, strict=True):
                assert (state is ScoreState.UNPARSABLE) == (item.sample.id in asked)

    def test_readable_second_reply_counts_as_a_first_reply(self) -> None:
        def script(request: Request) -> str:
            is_second = request.messages[-2:-1] and request.messages[-2].role == "assistant"
            return self.reply(request) if is_second else "?"

        judgements, ask = self.judge_with(script)
        assert len(ask.calls) == 2 * getattr(self.metric, "n_rounds", 1)
        for name, scores in self.judge(JUDGED).scores.items():
            np.testing.assert_array_equal(judgements.scores[name].values, scores.values)

    def test_judge_skips_samples_whose_preparation_failed(self) -> None:
        for script, state in ((failed, ScoreState.FAILED), (lambda _: "?", ScoreState.UNPARSABLE)):
            preparing, judging = ScriptedJudge(script), ScriptedJudge(self.reply)
            preparation = self.metric.prepare(samples_of(JUDGED), preparing)
            unprepared = {request.sample.id for request in preparing.requests}
            judgements = self.metric.judge(JUDGED, preparation, judging)
            assert not unprepared & {request.sample.id for request in judging.requests}
            for scores in judgements.scores.values():
                found = {item.sample.id for item, s in zip(JUDGED, scores.states, strict=True) if s is state}
                assert found == unprepared
