"""A graph of phrases and passages, and its ranking of the passages by personalized PageRank."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fact_graph.page_rank import n_steps, page_rank
from components.fact_graph.synonyms import synonyms
from components.limits import too_small
from components.protocols import Arrays
from components.records import FactRows, Hits
from components.text.ranking import best_columns, empty_hits

_CELLS_AT_ONCE = 1 << 22
"""Maximum number of ranks of nodes and queries in memory: 32 MiB, and several times that while they are computed."""

_MAX_DAMPING = 0.99
"""Beyond it, the ranks need thousands of steps."""

_RESOLUTION = 6
"""Decimals of a similarity, as in the vector indexes."""


@dataclass(frozen=True)
class EntityGraph:
    """Phrases and passages as nodes, and a search that starts at the facts and passages that are near the query.

    The weight of an edge between the phrases of a fact is the number of passages that state a fact about both. An edge
    between a phrase and a passage that states a fact about it has weight 1. An edge between two phrases whose cosine is
    at least `synonym_threshold` has the cosine as its weight. A phrase proposes at most `max_synonyms` others.

    The `n_facts` facts with the largest inner products above zero give their phrases a weight: the mean over the facts,
    scaled between the best and the worst fact of the corpus, divided by the number of passages that state a fact about
    the phrase. The weight of a passage is its inner product, scaled alike, times `passage_weight`. Personalized
    PageRank with these weights and `damping` ranks the passages; it is computed to `tolerance`.

    Without facts, the ranking equals an exact dense ranking of the same vectors, up to rounding of about 1e-6. The same
    holds for a query with no nearby fact, unless a phrase connects passages. A query with a zero vector finds nothing.
    The paper also has a language model filter the facts of each query. This search does not. Source: Gutiérrez et al.
    2025, "From RAG to Memory: Non-Parametric Continual Learning for Large Language Models" (HippoRAG 2).
    """

    synonym_threshold: float = 0.8
    max_synonyms: int = 100
    n_facts: int = 5
    passage_weight: float = 0.05
    damping: float = 0.5
    tolerance: float = 1e-6

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        problems = too_small(self, max_synonyms=0, n_facts=1)
        if not 0 < self.damping <= _MAX_DAMPING:
            problems.append(f"damping: got {self.damping:g}, expected a number in (0, {_MAX_DAMPING}]")
        if not 0 < self.tolerance < 1:
            problems.append(f"tolerance: got {self.tolerance:g}, expected a number in (0, 1)")
        if not 0 < self.synonym_threshold <= 1:
            got = f"synonym_threshold: got {self.synonym_threshold:g}"
            problems.append(f"{got}, expected a cosine above 0, up to 1 (for no synonyms, max_synonyms=0)")
        if not 0 < self.passage_weight < np.inf:
            problems.append(f"passage_weight: got {self.passage_weight:g}, expected a finite number above 0")
        return problems

    @property
    def as_built(self) -> "EntityGraph":
        """The graph with its search-only fields set to their defaults."""
        return replace(self, n_facts=5, passage_weight=0.05, damping=0.5, tolerance=1e-6)

    def build(self, facts: FactRows, phrases: NDArray[np.float32]) -> Arrays:
        """Return the graph of some facts, given float32[n_phrases, d], the vectors of their phrases.

        `offsets`, `neighbours` and `weights` are the rows of the matrix of edges; phrases come first, then passages.
        `subject` and `object` are the phrases of each fact, `n_passages` the number of passages of each phrase, and
        `n_synonyms`, of one entry, counts the pairs of synonyms.
        """
        n_phrases, n_nodes = facts.n_phrases, facts.n_phrases + facts.n_chunks
        pairs = np.unique(
            np.concatenate(
                [np.stack([side[facts.fact], facts.chunk], axis=1) for side in (facts.subject, facts.object)]
            ),
            axis=0,
        )
        synonym_pairs = synonyms(phrases, self.synonym_threshold, self.max_synonyms)
        linked = _linked_phrases(facts)
        ones = np.concatenate([linked[:, 0], synonym_pairs.one, pairs[:, 0]]).astype(np.int64)
        others = np.concatenate([linked[:, 1], synonym_pairs.other, n_phrases + pairs[:, 1]]).astype(np.int64)
        weights = np.concatenate([np.ones(len(linked)), synonym_pairs.cosine, np.ones(len(pairs))])
        offsets, neighbours, weights = _symmetric_rows(ones, others, weights, n_nodes)
        return {
            "offsets": offsets,
            "neighbours": neighbours,
            "weights": weights,
            "subject": facts.subject,
            "object": facts.object,
            "n_passages": np.bincount(pairs[:, 0], minlength=n_phrases).astype(np.int32),
            "n_synonyms": np.array([len(synonym_pairs.one)], dtype=np.int64),
        }

    def counts(self, graph: Arrays) -> dict[str, int]:
        """Return the number of pairs of synonyms."""
        return {"n_synonyms": int(graph["n_synonyms"][0])}

    def search(
        self,
        graph: Arrays,
        facts: NDArray[np.float32],
        chunks: NDArray[np.float32],
        queries: NDArray[np.float32],
        depth: int,
    ) -> Hits:
        """Return the `depth` best chunks per query, given the vectors of facts, chunks and queries, float32[n, d]."""
        from scipy.sparse import csr_matrix

        n_nodes = len(graph["offsets"]) - 1
        hits = empty_hits(len(queries), min(depth, len(chunks)))
        edges = csr_matrix((graph["weights"], graph["neighbours"], graph["offsets"]), shape=(n_nodes, n_nodes))
        n_rows = max(_CELLS_AT_ONCE // max(n_nodes, len(facts), 1), 1)
        for first in range(0, len(queries), n_rows):
            block = queries[first : first + n_rows]
            block_hits = self._search_block(graph, edges, facts, chunks, block, depth)
            hits.chunk[first : first + n_rows], hits.score[first : first + n_rows] = block_hits.chunk, block_hits.score
        return hits

    def _search_block(
        self,
        graph: Arrays,
        edges: Any,
        facts: NDArray[np.float32],
        chunks: NDArray[np.float32],
        queries: NDArray[np.float32],
        depth: int,
    ) -> Hits:
        """Search for a block of queries."""
        nearness = _inner_products(queries, chunks)
        is_near = nearness != 0
        passage_weights = self.passage_weight * _scale(nearness, is_near)
        phrase_weights = self._phrase_weights(graph, _inner_products(queries, facts))
        seeds = np.concatenate([phrase_weights, passage_weights], axis=1)
        total = seeds.sum(axis=1, keepdims=True)
        seeds = np.divide(seeds, total, out=np.zeros_like(seeds), where=total > 0)
        ranks = page_rank(edges, np.ascontiguousarray(seeds.T), self.damping, n_steps(self.damping, self.tolerance))
        score = ranks[phrase_weights.shape[1] :].T
        return best_columns(np.where(is_near | (score > 0), score, -np.inf), depth)

    def _phrase_weights(self, graph: Arrays, nearness: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return float64[n_queries, n_phrases], given the inner products of queries and facts."""
        n_queries, n_phrases = len(nearness), len(graph["n_passages"])
        best = best_columns(np.where(nearness > 0, nearness, -np.inf), self.n_facts)
        row, column = np.nonzero(best.chunk >= 0)
        fact = best.chunk[row, column]
        weight = _scale(nearness, np.ones(nearness.shape, dtype=bool))[row, fact]
        sums, counts = np.zeros(n_queries * n_phrases), np.zeros(n_queries * n_phrases)
        subject, other = (np.asarray(graph[side], dtype=np.int64)[fact] for side in ("subject", "object"))
        is_about_two = subject != other
        for phrase, rows in ((subject, slice(None)), (other, is_about_two)):
            cell = (row * n_phrases + phrase)[rows]
            sums += np.bincount(cell, weight[rows], minlength=len(sums))
            counts += np.bincount(cell, minlength=len(counts))
        mean = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0).reshape(n_queries, n_phrases)
        weights: NDArray[np.float64] = mean / np.maximum(graph["n_passages"], 1)
        return weights


def _inner_products(queries: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    if not len(vectors):  # without texts, an embedder may not know its dimensions
        return np.zeros((len(queries), 0))
    products: NDArray[np.float64] = (queries @ vectors.T).astype(np.float64).round(_RESOLUTION)
    return products


def _scale(values: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the counted values between 0, for the least of a row, and 1, for the largest; 1 for all if they are equal.

    Values that are not counted become 0.
    """
    best = np.where(counted, values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    worst = np.where(counted, values, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    width = np.where(best > worst, best - worst, 1)
    floor = np.where(best > worst, worst, best - 1)
    return np.where(counted, (values - np.where(np.isfinite(floor), floor, 0)) / width, 0)


def _linked_phrases(facts: FactRows) -> NDArray[np.int64]:
    """Return a row of two phrases, the first one first, for each passage that states a fact about both."""
    subject, other = facts.subject[facts.fact].astype(np.int64), facts.object[facts.fact].astype(np.int64)
    rows = np.stack([np.minimum(subject, other), np.maximum(subject, other), facts.chunk.astype(np.int64)], axis=1)
    return np.unique(rows[subject != other], axis=0)[:, :2]


def _symmetric_rows(
    ones: NDArray[np.int64], others: NDArray[np.int64], weights: NDArray[np.float64], n_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the rows of a symmetric matrix: offsets, columns and sums of the weights of equal pairs."""
    row, column = np.concatenate([ones, others]), np.concatenate([others, ones])
    cell, inverse = np.unique(row * n_nodes + column, return_inverse=True)
    summed = np.bincount(inverse.ravel(), np.concatenate([weights, weights]), minlength=len(cell))
    offsets = np.searchsorted(cell, np.arange(n_nodes + 1) * max(n_nodes, 1))
    return offsets.astype(np.int64), (cell % max(n_nodes, 1)).astype(np.int32), summed.astype(np.float32)
