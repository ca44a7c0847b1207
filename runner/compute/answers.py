"""Stages that write answers: build the context, ask the model."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from components.errors import ComponentError
from components.records import Answer, AnswerState, Context, Request
from runner import payloads
from runner.compute.corpus import chunk_passages
from runner.payloads import encode_arrays
from runner.stage import Inputs, Output, Stage

_SYNC_EVERY_S = 1.0


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
    for answer in _journalled(stage.component.generate(missing), journal):
        answers[answer.request_id] = answer
        inputs.report(len(answers), len(requests))
    ordered = _in_order(requests, answers, type(stage.component).__name__)
    partial = any(answer.state is AnswerState.ERROR for answer in ordered)
    prompts = ["\n\n".join(message.content for message in request.messages) for request in requests]
    return Output(payloads.encode_answers(ordered, prompts), partial)


def forget_journal(stage: Stage, inputs: Inputs) -> None:
    """Removes the journal of a generation whose result is kept whole."""
    inputs.store.journal(stage.key).unlink(missing_ok=True)


def _requests(stage: Stage, inputs: Inputs) -> Iterator[Request]:
    samples = inputs.read("samples", payloads.decode_samples)
    context = inputs.read("context", payloads.decode_context)
    texts = chunk_passages(inputs).texts if inputs.has("chunks") else []
    for sample, chosen in zip(samples, context.chunk.tolist(), strict=True):
        passages = tuple(texts[chunk] for chunk in chosen if chunk >= 0)
        yield Request(sample.id, stage.settings["prompt"].render(sample, passages), sample, passages)


def _in_order(requests: list[Request], answers: dict[str, Answer], llm: str) -> list[Answer]:
    lacking = [request.id for request in requests if request.id not in answers]
    if lacking:
        raise ComponentError(
            f"{llm}: {len(lacking)} requests got no answer at all, e.g. {lacking[0]!r}; wanted one each"
        )
    return [answers[request.id] for request in requests]


def read_journal(path: Path) -> Iterator[Answer]:
    """Answers of an earlier run that did not fail. A last line that was cut off in the middle is asked for again."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            raw = json.loads(line)
        except ValueError:
            continue
        if raw["state"] != AnswerState.ERROR:
            yield Answer(**{**raw, "state": AnswerState(raw["state"])})


def _journalled(answers: Iterable[Answer], path: Path) -> Iterator[Answer]:
    """Passes answers on after writing each down; the disk is synced about once a second."""
    synced = time.monotonic()
    with path.open("a", encoding="utf-8") as file:
        if file.tell():
            file.write("\n")  # what a killed run left of a line ends here
        for answer in answers:
            file.write(json.dumps(asdict(answer), ensure_ascii=False) + "\n")
            file.flush()
            if time.monotonic() - synced > _SYNC_EVERY_S:
                os.fsync(file.fileno())
                synced = time.monotonic()
            yield answer
