"""Stages that write answers: build the context, ask the model."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from components.errors import ComponentError
from components.records import Answer, AnswerState, Context, Request
from runner.engine.journal import journalled, read_journal
from runner.engine.stage import Inputs, Output, Stage
from runner.pipeline import payloads
from runner.pipeline.corpus import chunk_passages
from runner.pipeline.payloads import encode_arrays


def build_context(stage: Stage, inputs: Inputs) -> Output:
    """The chunks that go into each prompt; for a closed-book cell none."""
    if not inputs.has("hits"):
        n_samples = len(inputs.read("samples", payloads.decode_samples))
        none = np.zeros(n_samples, dtype=np.int64)
        return Output(encode_arrays(Context(np.zeros((n_samples, 0), dtype=np.int32), none, none)))
    hits = inputs.read("hits", payloads.decode_hits)
    return Output(encode_arrays(stage.component.build(hits, chunk_passages(inputs).texts, stage.settings["top_k"])))


def generate(stage: Stage, inputs: Inputs) -> Output:
    """One answer per sample. They are journalled as they arrive: a killed run goes on with the missing ones."""
    requests = list(_requests(stage, inputs))
    journal = inputs.store.journal(stage.key)
    answers = {answer.request_id: answer for answer in read_journal(journal)}
    missing = [request for request in requests if request.id not in answers]
    inputs.report(len(requests) - len(missing), len(requests))
    for answer in journalled(stage.component.generate(missing), journal):
        answers[answer.request_id] = answer
        inputs.report(len(answers), len(requests))
    ordered = _in_order(requests, answers, type(stage.component).__name__)
    partial = any(answer.state is AnswerState.ERROR for answer in ordered)
    prompts = ["\n\n".join(message.content for message in request.messages) for request in requests]
    return Output(payloads.encode_answers(ordered, prompts), partial)


def forget_journal(stage: Stage, inputs: Inputs) -> None:
    """Removes the journal of a generation whose result is kept whole."""
    inputs.store.journal(stage.key).unlink(missing_ok=True)


def passages_in_context(inputs: Inputs) -> Iterator[tuple[str, ...]]:
    """Per sample, the texts of the chunks in its prompt, in order."""
    texts: Sequence[str] = chunk_passages(inputs).texts if inputs.has("chunks") else []
    for chosen in inputs.read("context", payloads.decode_context).chunk.tolist():
        yield tuple(texts[chunk] for chunk in chosen if chunk >= 0)


def total(counts: Iterable[int | None]) -> int | None:
    """The sum of counted tokens; None if any is not known."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def _requests(stage: Stage, inputs: Inputs) -> Iterator[Request]:
    samples = inputs.read("samples", payloads.decode_samples)
    for sample, passages in zip(samples, passages_in_context(inputs), strict=True):
        yield Request(sample.id, stage.settings["prompt"].render(sample, passages), sample, passages)


def _in_order(requests: list[Request], answers: dict[str, Answer], llm: str) -> list[Answer]:
    lacking = [request.id for request in requests if request.id not in answers]
    if lacking:
        raise ComponentError(
            f"{llm}: {len(lacking)} requests got no answer at all, e.g. {lacking[0]!r}; wanted one each"
        )
    return [answers[request.id] for request in requests]
