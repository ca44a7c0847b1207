"""One model, tried: is it there, how large is it, does it load, and what does it make of a line of text."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from components.errors import ComponentError, RagGridError
from components.openai_server.access import host_of
from components.pretrained.model_files import ModelFiles, model_files
from components.protocols import LLM, AnswerMetric, Embedder, ReadsTokens, Reranker
from components.records import AnswerState, Kind, Message, Passages, Request, Sample, TextsWithUnits
from runner.engine.checked_answers import checked_answers

QUESTION = "Which city is the capital of France?"
PASSAGES = ("Paris is the capital of France.", "苹果是一种水果。")

_SAMPLE = Sample("check", "check", Kind.QA, QUESTION, references=("The capital of France is Paris.",))
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Trial:
    """What was found out, line by line: (what, found). `mistake` is why the model cannot be used, "" if it can."""

    model: str
    lines: tuple[tuple[str, str], ...]
    mistake: str = ""


def try_model(component: object, *, download: bool) -> Trial:
    """Tries a component that has a field `model`. What is on a hub alone is fetched only with `download`."""
    lines: list[tuple[str, str]] = []
    mistake = ""
    try:
        lines += _place(component, download=download)
        if isinstance(component, ReadsTokens):
            limit = component.token_limit()
            lines += [("reads", f"{limit:,} tokens at once" if limit else "texts of any length")]
        started = time.perf_counter()
        said = _said_by(component)
        lines += [("first line", f"{said} (loading included: {time.perf_counter() - started:.1f} s)")]
    except RagGridError as error:
        mistake = str(error)
    return Trial(str(getattr(component, "model", "")), tuple(lines), mistake)


def _place(component: object, *, download: bool) -> Iterator[tuple[str, str]]:
    """Where the model is, how large, and how much it reads. Raises ComponentError if it is nowhere near."""
    model = str(getattr(component, "model", ""))
    if hasattr(component, "class_path"):
        yield "class", component.class_path  # it knows by itself where its model is
        return
    if hasattr(component, "base_url"):
        yield "server", host_of(component.base_url)
        return
    revision = str(getattr(component, "revision", ""))
    files = model_files(model, revision)
    if files is not None:
        yield from _size(files)
    elif not download:
        raise ComponentError(
            f"{model} is not on this machine. Fetch it with: hf download {model} --revision {revision}; or give "
            "--download, or let the first sweep that uses it fetch it"
        )


def _size(files: ModelFiles) -> Iterator[tuple[str, str]]:
    yield "folder", str(files.folder)
    yield "on disk", f"{files.n_bytes / _MEGABYTE:,.1f} MB"
    if files.n_parameters is not None:
        yield "parameters", f"{files.n_parameters:,}"


def _said_by(component: object) -> str:
    """What the model makes of a line. Raises ComponentError if it makes nothing of it."""
    if isinstance(component, Embedder):
        return _embedded(component)
    if isinstance(component, Reranker):
        return _reranked(component)
    if isinstance(component, LLM):
        return _answered(component)
    if isinstance(component, AnswerMetric):
        return _scored(component)
    raise ComponentError(f"{type(component).__name__}: no role in which a model can be tried")


def _embedded(embedder: Embedder) -> str:
    state = embedder.fit(Passages(PASSAGES))
    query = embedder.embed_queries(Passages([QUESTION]), state)
    chunks = embedder.embed_chunks(Passages(PASSAGES), state)
    right, wrong = (chunks @ query[0]).tolist()
    return f"{query.shape[1]} dimensions; cosine {right:.3f} to the passage that answers, {wrong:.3f} to another"


def _reranked(reranker: Reranker) -> str:
    pairs = np.array([[0, 0], [0, 1]], dtype=np.int32)
    right, wrong = reranker.score(Passages([QUESTION]), Passages(PASSAGES), pairs).tolist()
    return f"{right:.3f} for the passage that answers, {wrong:.3f} for another"


def _answered(llm: LLM) -> str:
    request = Request("check", (Message("user", QUESTION),), _SAMPLE, ())
    (answer,) = checked_answers(llm, [request])
    if answer.state is AnswerState.ERROR:
        raise ComponentError(answer.error)
    tokens = "?" if answer.n_completion_tokens is None else answer.n_completion_tokens
    return f"{answer.text!r} ({answer.state.value}, {tokens} tokens)"


def _scored(metric: AnswerMetric) -> str:
    scores = metric.score_answers([_SAMPLE], TextsWithUnits([PASSAGES[0]]), TextsWithUnits(_SAMPLE.references))
    return ", ".join(f"{name} {found.values[0]:.3f}" for name, found in scores.items())
