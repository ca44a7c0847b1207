"""Stages in which a language model judges: what it must decide once per question, and what it says of each answer.

Every reply is kept under the hash of its request, so that an interrupted judge goes on where it was, and cells whose
requests are equal (the same passage under several top_k, say) share the reply.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from components.protocols import LLM, JudgedMetric
from components.records import Answer, AnswerState, JudgeInput, Request, ScoreState
from runner.engine.identity import describe, key_of
from runner.engine.journal import journalled, read_journal
from runner.engine.stage import Inputs, Output, Stage
from runner.pipeline import payloads
from runner.pipeline.answers import passages_in_context, total
from runner.pipeline.scoring import aggregated, rows_to_score, spread


class Asking:
    """Puts a judge's requests to its model, and keeps the replies. Called as `components.protocols.Ask`."""

    def __init__(self, llm: LLM, replies: Path, report: Callable[[int, int], None]) -> None:
        """`replies` is the file of all replies that this judge ever gave."""
        self._llm = llm
        self._replies = replies
        self._report = report
        self._kept = {answer.request_id: answer for answer in read_journal(replies)}
        self.n_failed = 0
        self.n_requests = 0
        self._n_prompt_tokens: int | None = 0
        self._n_completion_tokens: int | None = 0

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """One answer per request, in order; equal requests are asked once. Failed ones are not kept."""
        keys = [_key_of_request(request) for request in requests]
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in self._kept}
        got = dict(self._kept)
        self._report(len(keys) - len(missing), len(keys))
        asked = self._llm.generate([replace(request, id=key) for key, request in missing.items()])
        for n, answer in enumerate(journalled(asked, self._replies) if missing else (), start=1):
            got[answer.request_id] = answer
            self._report(len(keys) - len(missing) + n, len(keys))
        self._kept |= {key: answer for key, answer in got.items() if answer.state is not AnswerState.ERROR}
        answers = [replace(got[key], request_id=request.id) for key, request in zip(keys, requests, strict=True)]
        self._count(answers)
        return answers

    def _count(self, answers: Sequence[Answer]) -> None:
        self.n_requests += len(answers)
        self.n_failed += sum(answer.state is AnswerState.ERROR for answer in answers)
        self._n_prompt_tokens = total([self._n_prompt_tokens, *(answer.n_prompt_tokens for answer in answers)])
        self._n_completion_tokens = total(
            [self._n_completion_tokens, *(answer.n_completion_tokens for answer in answers)]
        )

    @property
    def usage(self) -> dict[str, int | None]:
        """Requests and tokens (None where the provider did not count them), kept replies included: what this judgement
        costs when nothing is kept.
        """
        return {
            "n_requests": self.n_requests,
            "n_prompt_tokens": self._n_prompt_tokens,
            "n_completion_tokens": self._n_completion_tokens,
        }


def prepare(stage: Stage, inputs: Inputs) -> Output:
    """What the judge decides from questions and references alone, the same for every answer."""
    ask = _asking(stage, inputs)
    prepared = dict(stage.component.prepare(inputs.read("samples", payloads.decode_samples), ask))
    return Output({"prepared": prepared, "usage": ask.usage}, partial=ask.n_failed > 0)


def judge(stage: Stage, inputs: Inputs) -> Output:
    """What the judge says of each answer (or of the passages). Answers that failed are not judged, and counted."""
    samples = inputs.read("samples", payloads.decode_samples)
    texts, rows, states = [""] * len(samples), list(range(len(samples))), [ScoreState.VALUE] * len(samples)
    if inputs.has("answers"):
        answers = inputs.read("answers", payloads.decode_answers)
        texts = [answer.text for answer in answers]
        rows, states = rows_to_score(answers)
    passages = list(passages_in_context(inputs))
    ask = _asking(stage, inputs)
    judgements = stage.component.judge(
        [JudgeInput(samples[row], texts[row], passages[row]) for row in rows],
        inputs.read("prepared", _decode_prepared),
        ask,
    )
    remarks = [""] * len(samples)
    for row, remark in zip(rows, judgements.remarks, strict=True):
        remarks[row] = remark
    scores = {name: spread(score, rows, states) for name, score in judgements.scores.items()}
    scored = aggregated(stage, samples, [(stage.component, scores)])
    payload = {**scored.payload, "usage": ask.usage, "remarks": pa.table({"remark": remarks})}
    return Output(payload, partial=ask.n_failed > 0)


def replies_key(metric: JudgedMetric) -> str:
    """Of the file in which the replies of a metric's model are kept. Other words or other limits of the judge are other
    requests, or more of them, and leave the replies to the same ones as they are.
    """
    return key_of([list(metric.names), describe(metric.llm)])


def _asking(stage: Stage, inputs: Inputs) -> Asking:
    return Asking(stage.component.llm, inputs.store.replies(replies_key(stage.component)), inputs.report)


def _decode_prepared(parts: dict[str, Any]) -> Any:
    return parts["prepared"]


def _key_of_request(request: Request) -> str:
    """Equal for requests that a model cannot tell apart and that are about one sample."""
    messages = [[message.role, message.content] for message in request.messages]
    return key_of([request.sample.id, messages, describe(request.json_schema)])
