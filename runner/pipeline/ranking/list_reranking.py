"""Stages that order the first hits by requests to a language model about several of them, or about each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.json_value import Json
from components.protocols import ListReranker
from components.records import Hits
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.reply_counts import reply_counts
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages

PURPOSE = "reranking"


@dataclass(frozen=True)
class HitOrders:
    """Orders of the hits by a language model.

    `places` int32[n_queries, n_hits] are positions in the previous ranking, best first, padded with -1. `replies` are
    counts by query (see `reply_counts`). `usage` counts the requests and their tokens.
    """

    places: NDArray[np.int32]
    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


class LLMHitOrders(
    Stage[HitOrders],
    kind="hit_orders",
    display_name="reranking by a language model",
    version=2,
    work=Work.PER_QUERY,
    repeats_unreadable=True,
):
    """The order that a language model gives to the first `reranker.depth` hits of each query."""

    codec = Columns(HitOrders)

    reranker: ListReranker
    hits: Stage[Hits]
    queries: QueryPassages
    chunks: ChunkPassages
    n_samples: int = runtime_only(0, "the samples are part of the queries' key")
    n_hits: int = runtime_only(0, "the hits are part of the key")
    """Maximum number of hits of a query."""

    @property
    def n_requests(self) -> int:
        """Number of requests: the reranker's number per query, times the samples."""
        return self.n_samples * self.reranker.n_requests(min(self.n_hits, self.reranker.depth))

    @property
    def n_rounds(self) -> int:
        """Number of rounds of requests, as the reranker reports it."""
        return self.reranker.n_rounds(min(self.n_hits, self.reranker.depth))

    def make(self, run: Run) -> HitOrders:
        """Send the requests. Raises ComponentError for orders that are not permutations."""
        queries, chunks = self.queries.read(run), self.chunks.read(run)
        head = run.read(self.hits).chunk[:, : self.reranker.depth]
        require_one_query_each(self.reranker, len(queries), len(head))
        texts = [[chunks.texts[chunk] for chunk in row if chunk >= 0] for row in head.tolist()]
        ask = run.ask(self.reranker.llm, PURPOSE)
        orders = self.reranker.rank(list(queries.texts), texts, ask)
        places = np.full(head.shape, -1, dtype=np.int32)
        for row, (order, row_texts) in enumerate(zip(orders, texts, strict=True)):
            if sorted(order.order) != list(range(len(row_texts))):
                raise ComponentError(
                    f"{type(self.reranker).__name__}: got the order {list(order.order)} for {len(row_texts)} hits, "
                    "expected each position once"
                )
            places[row, : len(row_texts)] = order.order
        return HitOrders(places, reply_counts(orders, sum(len(row_texts) > 1 for row_texts in texts)), dict(ask.usage))


class ReorderedHits(Stage[Hits], kind="reordered_hits", display_name="reranked hits", version=1, work=Work.PER_QUERY):
    """The hits in the order of a model, followed by the hits that it did not order.

    Scores decrease by one from hit to hit, because the model only gives an order.
    """

    codec = Columns(Hits)

    hits: Stage[Hits]
    orders: LLMHitOrders

    def make(self, run: Run) -> Hits:
        chunks, places = run.read(self.hits).chunk, run.read(self.orders).places
        head = np.take_along_axis(chunks, np.maximum(places, 0), axis=1)
        ordered = np.concatenate([np.where(places >= 0, head, -1), chunks[:, places.shape[1] :]], axis=1)
        scores = np.where(ordered >= 0, -np.arange(ordered.shape[1]), -np.inf)
        return Hits(ordered.astype(np.int32), scores.astype(np.float32))


RERANKER = "reranker"
"""Name of the counts of a reranker with a language model. They are listed with the counts of judges.

A step of a cascade is "reranker/<step>".
"""


def llm_hit_orders(rankings: Mapping[str, Stage[Hits]]) -> dict[str, LLMHitOrders]:
    """Return the stages that requested an order from a language model, by name of the ranking."""
    return {name: hits.orders for name, hits in rankings.items() if isinstance(hits, ReorderedHits)}


def require_one_query_each(reranker: object, n_queries: int, n_samples: int) -> None:
    """Raise ComponentError if a sample does not have exactly one query for scoring its hits."""
    if n_queries != n_samples:
        raise ComponentError(
            f"{type(reranker).__name__}: got {n_queries} queries for {n_samples} samples; the first variant of the "
            "expander must write one query per sample, because the hits are scored by it"
        )
