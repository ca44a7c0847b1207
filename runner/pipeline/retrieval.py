"""Stages that find chunks: embed, index, search, fuse, rerank."""

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.records import Hits
from components.text.ranking import sort_hits
from runner.engine.stage import Inputs, Output, Stage
from runner.pipeline import payloads
from runner.pipeline import sub_corpora as parts
from runner.pipeline.corpus import chunk_passages, document_passages, query_passages
from runner.pipeline.payloads import encode_arrays


def fit_embedder(stage: Stage, inputs: Inputs) -> Output:
    """What the embedder learns from the corpus; nothing for a pretrained one."""
    return Output(stage.component.fit(document_passages(inputs)))


def embed_chunks(stage: Stage, inputs: Inputs) -> Output:
    """float32[n_chunks, d]."""
    fitted = inputs.read("fitted", payloads.decode_arrays)
    return Output({"vectors": stage.component.embed_chunks(chunk_passages(inputs), fitted)})


def embed_queries(stage: Stage, inputs: Inputs) -> Output:
    """float32[n_queries, d]."""
    fitted = inputs.read("fitted", payloads.decode_arrays)
    return Output({"vectors": stage.component.embed_queries(query_passages(inputs), fitted)})


def build_vector_index(stage: Stage, inputs: Inputs) -> Output:
    """The index over the chunks' vectors."""
    vectors = inputs.read("vectors", payloads.decode_vectors)
    return Output(parts.join([stage.component.build(vectors[part.chunks]) for part in parts.of(stage, inputs)]))


def search_vectors(stage: Stage, inputs: Inputs) -> Output:
    """The nearest chunks of every query."""
    index = inputs.read("index", payloads.decode_arrays)
    vectors, queries = (inputs.read(name, payloads.decode_vectors) for name in ("vectors", "query_vectors"))
    searched = parts.with_queries(stage, inputs)
    found = [
        stage.component.search(
            parts.take(index, part), vectors[part.chunks], queries[part.queries], stage.settings["depth"]
        )
        for part in searched
    ]
    return Output(encode_arrays(parts.merge(found, searched, len(queries))))


def build_sparse_index(stage: Stage, inputs: Inputs) -> Output:
    """The index over the chunks' terms."""
    chunks = chunk_passages(inputs)
    return Output(parts.join([stage.component.build(parts.rows(chunks, p.chunks)) for p in parts.of(stage, inputs)]))


def search_terms(stage: Stage, inputs: Inputs) -> Output:
    """The chunks that share most with every query."""
    index, queries = inputs.read("index", payloads.decode_arrays), query_passages(inputs)
    searched = parts.with_queries(stage, inputs)
    found = [
        stage.component.search(parts.take(index, part), parts.rows(queries, part.queries), stage.settings["depth"])
        for part in searched
    ]
    return Output(encode_arrays(parts.merge(found, searched, len(queries))))


def fuse(stage: Stage, inputs: Inputs) -> Output:
    """One ranking from the dense and the sparse one."""
    rankings = [inputs.read(name, payloads.decode_hits) for name in ("dense", "sparse")]
    return Output(encode_arrays(stage.component.fuse(rankings, stage.settings["depth"])))


def rerank(stage: Stage, inputs: Inputs) -> Output:
    """The first `depth` hits by their new scores; the others stay behind them in their old order.

    Those behind get scores below the lowest new one, so that a ranking always falls.
    """
    hits = inputs.read("hits", payloads.decode_hits)
    n_scored = min(stage.component.depth, hits.chunk.shape[1])
    head, tail = hits.chunk[:, :n_scored], hits.chunk[:, n_scored:]
    query, column = np.nonzero(head >= 0)
    pairs = np.stack([query.astype(np.int32), head[query, column]], axis=1)
    scored = np.full(head.shape, -np.inf, dtype=np.float32)
    scored[query, column] = _pair_scores(stage, inputs, pairs)
    ranked = sort_hits(head, scored, n_scored)
    lowest = np.where(head >= 0, scored, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    behind = np.where(tail >= 0, np.where(np.isfinite(lowest), lowest, 0) - 1 - np.arange(tail.shape[1]), -np.inf)
    chunks = np.concatenate([ranked.chunk, tail], axis=1)
    return Output(encode_arrays(Hits(chunks, np.concatenate([ranked.score, behind], axis=1).astype(np.float32))))


def _pair_scores(stage: Stage, inputs: Inputs, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
    """Of (query, chunk) positions, int32[n, 2]. Several corpora are scored apart, as they are searched. Raises
    ComponentError for what are no scores.
    """
    queries, chunks = query_passages(inputs), chunk_passages(inputs)
    all_scores: NDArray[np.float32] = np.zeros(len(pairs), dtype=np.float32)
    for part in parts.of(stage, inputs):
        first, last, _ = part.chunks.indices(len(chunks.texts))
        own = (pairs[:, 1] >= first) & (pairs[:, 1] < last)
        shifted = pairs[own] - np.array([0, first], dtype=np.int32)
        scores = np.asarray(stage.component.score(queries, parts.rows(chunks, part.chunks), shifted))
        if scores.shape != (len(shifted),) or not np.isfinite(scores).all():
            raise ComponentError(
                f"{type(stage.component).__name__}: got scores of shape {scores.shape} for {len(shifted)} pairs "
                f"({int((~np.isfinite(scores)).sum())} of them not finite), wanted one finite score per pair"
            )
        all_scores[own] = scores
    return all_scores
