"""Counts the tokens that models do not read: texts longer than a model's limit are truncated."""

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.json_value import Json
from components.protocols import (
    DenseArm,
    EncodedArm,
    EncodedReranker,
    GraphArm,
    ReadsQueriesInPart,
    ReadsTokens,
    Reranker,
    Retriever,
    TokenVectorEncoder,
)
from components.records import Hits, Queries, Spans
from runner.engine.codecs import SinglePart
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.chunk_vectors import reads_documents
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages
from runner.pipeline.ranking.rerank_stages import RerankedHits
from runner.pipeline.search.nested_arms import arms_and_candidates


@runtime_checkable
class ReadsPairs(Reranker, ReadsTokens, Protocol):
    """A reranker whose model reads tokens."""


_BLOCK = 32_768
"""Number of texts whose tokens are counted together."""


class TruncatedTexts(Stage[Json], kind="cut_texts", version=1, work=Work.BENCHMARK):
    """Counts of the texts that an embedder truncates.

    The entry has its `model`, the kind of `texts` ("chunks" or "queries"), their number `n`, and the number `n_cut` of
    truncated texts. It also has the `limit` and the `longest` in tokens, and the numbers of all tokens and of the
    tokens cut off. Nothing is counted for a model without a limit.
    """

    codec = SinglePart("cut")

    embedder: ReadsTokens
    passages: ChunkPassages | QueryPassages

    def make(self, run: Run) -> Json:
        """Count the tokens of all texts."""
        are_queries = isinstance(self.passages, QueryPassages)
        count = self.embedder.count_query_tokens if are_queries else self.embedder.count_chunk_tokens
        texts, limit = self.passages.read(run).texts, _limit(self.embedder, are_queries=are_queries)
        what = "queries" if are_queries else "chunks"
        facts = {"model": model_name(self.embedder), "texts": what, "n": len(texts), "n_cut": 0, "limit": limit}
        if limit is None:
            return facts
        counts = [np.zeros(0, dtype=np.int64)]
        for first in range(0, len(texts), _BLOCK):
            counts.append(count(texts[first : first + _BLOCK]))
            run.report(min(first + _BLOCK, len(texts)), len(texts))
        return facts | _truncation_counts(np.concatenate(counts), limit)


class TruncatedPairs(Stage[Json], kind="cut_pairs", version=1, work=Work.BENCHMARK):
    """Counts of the pairs that a reranker truncates (`cut_texts` in `cell.json`).

    A pair is a query and a chunk. See `TruncatedTexts`. `texts` is "pairs".
    """

    codec = SinglePart("cut")

    reranker: ReadsPairs
    hits: Stage[Hits]
    queries: QueryPassages
    chunks: ChunkPassages

    def make(self, run: Run) -> Json:
        """Count the tokens of each query and each chunk once."""
        head = run.read(self.hits).chunk[:, : self.reranker.depth]
        query, column = np.nonzero(head >= 0)
        used, chunk = np.unique(head[query, column], return_inverse=True)
        limit = self.reranker.token_limit()
        facts = {"model": model_name(self.reranker), "texts": "pairs", "n": len(query), "n_cut": 0, "limit": limit}
        if limit is None:
            return facts
        texts = self.chunks.read(run).texts
        chunk_tokens = self.reranker.count_chunk_tokens([texts[position] for position in used.tolist()])
        query_tokens = self.reranker.count_query_tokens(list(self.queries.read(run).texts))
        return facts | _truncation_counts(query_tokens[query] + chunk_tokens[chunk.ravel()], limit)


def _limit(embedder: ReadsTokens, *, are_queries: bool) -> int | None:
    if are_queries and isinstance(embedder, ReadsQueriesInPart):
        return embedder.query_token_limit()
    return embedder.token_limit()


def _truncation_counts(n_tokens: NDArray[np.int64], limit: int) -> dict[str, int]:
    beyond = np.maximum(n_tokens - limit, 0)
    return {
        "n_cut": int(np.count_nonzero(beyond)),
        "longest": int(n_tokens.max(initial=0)),
        "n_tokens": int(n_tokens.sum()),
        "n_tokens_cut": int(beyond.sum()),
    }


def truncated_for_rerankers(rankings: Iterable[Stage[Hits]]) -> Iterator[TruncatedPairs | TruncatedTexts]:
    """Yield the stages that count truncated texts, for each ranking whose reranker reads tokens.

    They count pairs if the reranker reads a query and a chunk together, else chunks and queries.
    """
    for hits in rankings:
        if isinstance(hits, RerankedHits) and isinstance(hits.reranker, ReadsPairs):
            yield TruncatedPairs(hits.reranker, hits.hits, hits.queries, hits.chunks)
        elif isinstance(hits, RerankedHits) and isinstance(hits.reranker, EncodedReranker):
            encoder = hits.reranker.encoder
            if isinstance(encoder, TokenVectorEncoder) and isinstance(encoder, ReadsTokens):
                yield TruncatedTexts(encoder, hits.chunks)
                yield TruncatedTexts(encoder, hits.queries)


def build_truncation_stages(
    retriever: Retriever, data: DatasetStages, chunks: Stage[Spans], queries: Iterable[Stage[Queries]]
) -> tuple[TruncatedTexts, ...]:
    """Return the counts of chunks and of each variant of the queries, for every embedder whose model reads tokens.

    An embedder that reads chunks in their documents cuts no chunk.
    """
    chunk_texts, query_texts = ChunkPassages(data.corpus, chunks), tuple(map(QueryPassages, queries))
    models = [
        arm.embedder if isinstance(arm, DenseArm | GraphArm) else arm.encoder
        for arm in arms_and_candidates(retriever)
        if isinstance(arm, DenseArm | EncodedArm | GraphArm)
    ]
    stages = []
    for model in models:
        if isinstance(model, ReadsTokens):
            passages_read: Iterable[ChunkPassages | QueryPassages] = (
                query_texts if reads_documents(model) else (chunk_texts, *query_texts)
            )
            stages += [TruncatedTexts(model, passages) for passages in passages_read]
    return tuple({stage.key: stage for stage in stages}.values())


def model_name(component: object) -> str:
    """Return the name of a component's model. Without a model, the name of its class."""
    return str(getattr(component, "model", type(component).__name__))
