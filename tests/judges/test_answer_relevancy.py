import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from components.embedders.hashing import Hashing
from components.embedders.openai_embeddings import OpenAIEmbeddings
from components.judges.answer_relevancy import AnswerRelevancy
from components.llms.scripted import Scripted
from components.protocols import EmbedderState
from components.records import JudgeInput, Kind, Passages, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed


@dataclass(frozen=True)
class Directions:
    """Vectors in the plane by the first letter: a and b are orthogonal, c is opposite to a, other texts are zero."""

    version: ClassVar[int] = 1
    is_pretrained: ClassVar[Literal[True]] = True
    tokenizer: ClassVar[None] = None

    def fit(self, documents: Passages) -> EmbedderState:
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        return self.embed_queries(chunks, state)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        vectors = {"a": (3, 0), "b": (0, 2), "c": (-1, 0)}
        return np.array([vectors.get(text[0], (0, 0)) for text in queries.texts], dtype=np.float32)


METRIC = AnswerRelevancy(
    llm=Scripted(),
    system="审核",
    prompt="{n_questions}{answer}",
    reminder="请重答",
    n_questions=2,
    max_attempts=2,
    embedder=Hashing(),
)
BY_DIRECTION = replace(METRIC, embedder=Directions())
ITEM = JudgeInput(Sample("s", "qa", Kind.QA, "a?", ()), "answer", ())


def derived(questions: Sequence[str], *, noncommittal: bool = False) -> str:
    return json.dumps({"questions": questions, "noncommittal": noncommittal}, ensure_ascii=False)


class TestAnswerRelevancy(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return derived(["哪里？", "问题几？"])


def outcomes_of(item: JudgeInput, *replies: str) -> list[float | ScoreState]:
    found = iter(replies)
    judgements = BY_DIRECTION.judge([item], {}, ScriptedJudge(lambda _: next(found)))
    return [
        float(scores.values[0]) if scores.states[0] is ScoreState.VALUE else scores.states[0]
        for scores in judgements.scores.values()
    ]


@pytest.mark.parametrize(
    ("questions", "value"), [(["a1", "a2"], 1.0), (["a1", "b1"], 0.5), (["b1", "c1"], -0.5), (["x", "a1"], 0.5)]
)
def test_answer_relevancy_is_the_mean_cosine(questions: list[str], value: float) -> None:
    assert outcomes_of(ITEM, derived(questions)) == [value, value]


def test_only_the_package_form_scores_noncommittal_answers_zero() -> None:
    assert outcomes_of(ITEM, derived(["a1", "b1"], noncommittal=True)) == [0.5, 0.0]


def test_answer_relevancy_request_shows_the_answer_without_the_question() -> None:
    ask = ScriptedJudge(lambda _: derived(["a1", "a2"]))
    BY_DIRECTION.judge([ITEM], {}, ask)
    assert ask.requests[0].messages[1].content == "2answer"


@pytest.mark.parametrize(
    "reply",
    [
        derived(["a1"]),
        derived(["a1", "a2", "a3"]),
        derived(["a1", "..."]),
        '{"questions": ["a1", "a2"]}',
        '{"questions": ["a1", 2], "noncommittal": false}',
        "a1",
    ],
)
def test_wrong_number_of_derived_questions_is_unparsable(reply: str) -> None:
    assert outcomes_of(ITEM, reply, reply) == [ScoreState.UNPARSABLE] * 2


def test_answer_relevancy_skips_an_empty_answer() -> None:
    ask = ScriptedJudge(failed)
    judgements = METRIC.judge([replace(ITEM, answer=" ")], {}, ask)
    assert ask.calls == []
    assert {scores.states for scores in judgements.scores.values()} == {(ScoreState.NOT_APPLICABLE,)}


def test_answer_relevancy_rejects_invalid_settings() -> None:
    assert replace(METRIC, prompt="{answer}").check() == ["prompt: lacks the placeholder {n_questions}"]
    assert replace(METRIC, n_questions=0).check() == ["n_questions: got 0, expected at least 1"]
    server = OpenAIEmbeddings(model="m", base_url="http://localhost:1/v1", api_key_env="")
    (problem,) = replace(METRIC, embedder=server).check()
    assert problem.startswith("embedder: got OpenAIEmbeddings")
