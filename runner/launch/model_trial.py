"""Tries one model: checks that it exists and loads, reports its size, and processes a line of text."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from components.errors import ComponentError, RagGridError
from components.openai_server.access import extract_host
from components.pretrained.model_files import ModelFiles, model_files
from components.protocols import (
    LLM,
    AnswerMetric,
    Embedder,
    ReadsQueriesInPart,
    ReadsTokens,
    Reranker,
    TokenVectorEncoder,
    TokenWeigher,
)
from components.records import AnswerState, Kind, Message, Passages, Request, Sample, TextsWithUnits
from components.secrets.mask import mask_text
from components.token_similarity import score_pairs
from runner.engine.checked_answers import validate_answers

QUESTION = "Which city is the capital of France?"
PASSAGES = ("Paris is the capital of France.", "苹果是一种水果。")

_SAMPLE = Sample("check", "check", Kind.QA, QUESTION, references=("The capital of France is Paris.",))
_PAIRS = np.array([[0, 0], [0, 1]], dtype=np.int32)
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Trial:
    """Findings about a model, as lines (name, value). `problem` is the error that prevents its use, "" if it works."""

    model: str
    lines: tuple[tuple[str, str], ...]
    problem: str = ""


def try_model(component: object, *, download: bool) -> Trial:
    """Try a component that has a field `model`. Models on a hub are downloaded only with `download`."""
    lines: list[tuple[str, str]] = []
    problem = ""
    try:
        lines += _place(component, download=download)
        if isinstance(component, ReadsTokens):
            limit = component.token_limit()
            query_limit = component.query_token_limit() if isinstance(component, ReadsQueriesInPart) else None
            more = f", {query_limit:,} of a query" if query_limit else ""
            lines += [("reads", f"up to {limit:,} tokens{more}" if limit else "texts of any length")]
        started = time.perf_counter()
        output = _first_output(component)
        lines += [("first line", f"{output} (loading included: {time.perf_counter() - started:.1f} s)")]
    except RagGridError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - a library may raise any error for the files of a model
        problem = mask_text(f"{type(error).__name__}: {error}")
    return Trial(str(getattr(component, "model", "")), tuple(lines), problem)


def _place(component: object, *, download: bool) -> Iterator[tuple[str, str]]:
    """Yield the location and size of the model. Raises ComponentError if it is not on this machine."""
    model = str(getattr(component, "model", ""))
    if hasattr(component, "class_path"):
        yield "class", component.class_path  # the class itself locates its model
        return
    if hasattr(component, "base_url"):
        yield "server", extract_host(component.base_url)
        return
    revision = str(getattr(component, "revision", ""))
    files = model_files(model, revision)
    if files is not None:
        yield from _size(files)
    elif not download:
        raise ComponentError(
            f"{model} is not on this machine. Download it with: hf download {model} --revision {revision}; or use "
            "--download, or let the first sweep that uses it download it."
        )


def _size(files: ModelFiles) -> Iterator[tuple[str, str]]:
    yield "folder", str(files.folder)
    yield "on disk", f"{files.n_bytes / _MEGABYTE:,.1f} MB"
    if files.n_parameters is not None:
        yield "parameters", f"{files.n_parameters:,}"


def _first_output(component: object) -> str:
    """Return the model's output for a line of text. Raises ComponentError if it has none."""
    if isinstance(component, Embedder):
        return _try_embedder(component)
    if isinstance(component, TokenWeigher):
        return _try_sparse_encoder(component)
    if isinstance(component, TokenVectorEncoder):
        return _try_token_vectors(component)
    if isinstance(component, Reranker):
        return _try_reranker(component)
    if isinstance(component, LLM):
        return _try_llm(component)
    if isinstance(component, AnswerMetric):
        return _try_metric(component)
    raise ComponentError(
        f"{type(component).__name__}: is not an embedder, encoder, reranker, LLM or answer metric, so its model cannot "
        "be tried"
    )


def _try_embedder(embedder: Embedder) -> str:
    state = embedder.fit(Passages(PASSAGES))
    query = embedder.embed_queries(Passages([QUESTION]), state)
    chunks = embedder.embed_chunks(Passages(PASSAGES), state)
    right, wrong = (chunks @ query[0]).tolist()
    return f"{query.shape[1]} dimensions; cosine {right:.3f} to the passage that answers, {wrong:.3f} to another"


def _try_sparse_encoder(encoder: TokenWeigher) -> str:
    query, chunks = encoder.weigh_queries(Passages([QUESTION])), encoder.weigh_chunks(Passages(PASSAGES))
    n_of_chunks = len(chunks.weights) / len(chunks)
    return f"{len(query.weights)} tokens of the question have weights, {n_of_chunks:.0f} of a passage on average"


def _try_token_vectors(encoder: TokenVectorEncoder) -> str:
    query = encoder.encode_query_tokens(Passages([QUESTION])).multi
    chunks = encoder.encode_chunk_tokens(Passages(PASSAGES)).multi
    right, wrong = score_pairs(query, chunks, _PAIRS).tolist()
    return (
        f"{query.vectors.shape[1]} dimensions; {len(query.vectors)} vectors of the question; similarity {right:.3f} to "
        f"the passage that answers, {wrong:.3f} to another"
    )


def _try_reranker(reranker: Reranker) -> str:
    right, wrong = reranker.score(Passages([QUESTION]), Passages(PASSAGES), _PAIRS).tolist()
    return f"{right:.3f} for the passage that answers, {wrong:.3f} for another"


def _try_llm(llm: LLM) -> str:
    request = Request("check", (Message("user", QUESTION),), _SAMPLE, ())
    (answer,) = validate_answers(llm, [request])
    if answer.state is AnswerState.ERROR:
        raise ComponentError(answer.error)
    tokens = "?" if answer.n_completion_tokens is None else answer.n_completion_tokens
    return f"{answer.text!r} ({answer.state.value}, {tokens} tokens)"


def _try_metric(metric: AnswerMetric) -> str:
    scores = metric.score_answers([_SAMPLE], TextsWithUnits([PASSAGES[0]]), TextsWithUnits(_SAMPLE.references))
    return ", ".join(f"{name} {metric_scores.values[0]:.3f}" for name, metric_scores in scores.items())
