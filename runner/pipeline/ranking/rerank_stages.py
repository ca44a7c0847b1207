"""Stages that score the first hits again."""

from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings, MultiEncodings
from components.fields import runtime_only
from components.openai_server.received_replies import current_received
from components.protocols import AsksInBatches, EncodedReranker, ListReranker, PlainReranker, Reranker, SlowReranker
from components.records import Hits, Passages, Queries, Spans
from components.text.ranking import prepend_hits
from runner.engine.codecs import Columns
from runner.engine.identity import describe, hash_description
from runner.engine.source_code import require_equal_files
from runner.engine.stage import ServerRequests, Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus import sub_corpora
from runner.pipeline.corpus.checked_arrays import validate_scores
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.server_requests import max_reranking_requests, reranking_requests
from runner.pipeline.corpus.sub_corpora import SubCorpora
from runner.pipeline.corpus.text_passages import ChunkPassages, QueryPassages, build_corpus_terms, build_query_terms
from runner.pipeline.ranking.list_reranking import LLMHitOrders, ReorderedHits, require_one_query_each
from runner.pipeline.search.arm_search import encoded_chunks, encoded_queries


class RerankedHits(Stage[Hits], kind="reranked_hits", display_name="reranking", version=2, work=Work.PER_QUERY):
    """The first `reranker.depth` hits by their new scores, followed by the other hits in their old order.

    Hits with equal new scores keep their old order. Scores are stored by (query, chunk): another depth, k1 or fusion
    only scores pairs that no earlier ranking contained, and an interrupted stage resumes.
    """

    codec = Columns(Hits)

    reranker: Reranker
    hits: Stage[Hits]
    queries: QueryPassages
    chunks: ChunkPassages
    corpora: SubCorpora
    encoded: tuple[
        Stage[Encodings | MultiEncodings], ...
    ] = ()  # encoded queries and chunks, for a reranker that scores encodings
    n_hits: int = runtime_only(0, "the hits are part of the key")
    """Maximum number of hits of a query."""

    def make(self, run: Run) -> Hits:
        """Score and sort the hits. Hits after the scored ones get lower scores, so that scores decrease from hit to
        hit.
        """
        hits = run.read(self.hits)
        head, tail = np.split(hits.chunk, [self.reranker.depth], axis=1)
        pairs, query, column = _pairs(head)
        scored = np.full(head.shape, -np.inf, dtype=np.float32)
        # Rankings of one sweep share pairs: two workers that score them simultaneously would pay twice.
        with run.scoring(self.scores_key) if isinstance(self.reranker, AsksInBatches) else nullcontext():
            scored[query, column] = self._scores(run, pairs)
        order = np.argsort(-scored, axis=1, kind="stable")  # padding of the head has -inf, and stays last
        return prepend_hits(
            Hits(np.take_along_axis(head, order, axis=1), np.take_along_axis(scored, order, axis=1)), tail
        )

    def server_requests(self, run: Run) -> ServerRequests | None:
        """Return the requests for pairs without a score, or an upper bound if the hits are not known yet."""
        if not isinstance(self.reranker, AsksInBatches):
            return None
        queries = self.queries.read(run)
        if not run.is_cached(self.hits):
            n_hits, chunks = min(self.n_hits, self.reranker.depth), self.chunks.some(run).texts
            return max_reranking_requests(
                self.reranker, queries.texts, n_hits, chunks, self._block_size(len(queries) * n_hits)
            )
        pairs, _, _ = _pairs(run.read(self.hits).chunk[:, : self.reranker.depth])
        missing = np.isnan(run.pair_scores(self.scores_key).look_up(queries.texts, pairs))
        new, _ = _distinct(queries, pairs[missing])
        chunks = self.chunks.read(run).texts
        blocks = (new[block].tolist() for block in self._blocks(len(new)))
        return reranking_requests(
            self.reranker, ([(queries.texts[query], chunks[chunk]) for query, chunk in block] for block in blocks)
        )

    @property
    def scores_key(self) -> str:
        """Key of all inputs of a score except its query: the reranker (of any depth) and the chunks."""
        inputs: list[Stage[object]] = [self.chunks.corpus, self.chunks.chunks, *self.chunks.terms]
        prefixes = getattr(self.corpora, "prefixes", ())
        return hash_description(
            [describe(self.reranker, without=["depth"]), [stage.key for stage in inputs], list(prefixes)]
        )

    def _scores(self, run: Run, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        queries = self.queries.read(run)
        n_samples = len(run.read(self.hits))
        require_one_query_each(self.reranker, len(queries), n_samples)
        stored = run.pair_scores(self.scores_key)
        scores = stored.look_up(queries.texts, pairs)
        missing = np.isnan(scores)
        if missing.any():
            new, row = _distinct(queries, pairs[missing])
            new_scores = np.zeros(len(new), dtype=np.float32)
            chunks = self.chunks.read(run)
            for block in self._blocks(len(new)):
                new_scores[block] = self._new_scores(run, queries, chunks, new[block])
                require_equal_files(type(self.reranker))
                stored.add(queries.texts, new[block], new_scores[block])
                current_received().drop()  # scores are now stored by pair
                run.report(block.stop, len(new))
            scores[missing] = new_scores[row]
        return scores

    def _blocks(self, n_pairs: int) -> Iterator[slice]:
        """Yield all pairs as one block, or smaller blocks for a slow reranker."""
        for first in range(0, n_pairs, size := self._block_size(n_pairs)):
            yield slice(first, min(first + size, n_pairs))

    def _block_size(self, n_pairs: int) -> int:
        return self.reranker.n_pairs_per_block if isinstance(self.reranker, SlowReranker) else max(n_pairs, 1)

    def _new_scores(
        self, run: Run, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Score pairs. Corpora side by side are scored separately, as they are searched."""
        if isinstance(self.reranker, EncodedReranker):  # such a reranker scores a pair independently of the corpus
            encoded_queries, encoded_chunks = (run.read(stage) for stage in self.encoded)
            return validate_scores(
                self.reranker.score_encoded(encoded_queries, encoded_chunks, pairs), len(pairs), self.reranker
            )
        all_scores = np.zeros(len(pairs), dtype=np.float32)
        for part in self.corpora.ranges(run):
            first, last, _ = part.chunks.indices(len(chunks.texts))
            is_in_part = (pairs[:, 1] >= first) & (pairs[:, 1] < last)
            shifted = pairs[is_in_part] - np.array([0, first], dtype=np.int32)
            scores = self.reranker.score(queries, sub_corpora.rows(chunks, part.chunks), shifted)
            all_scores[is_in_part] = validate_scores(scores, len(shifted), self.reranker)
        return all_scores


def _pairs(hits: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs (query, chunk), int32[n_pairs, 2], and the row and the column of each."""
    query, column = np.nonzero(hits >= 0)
    return np.stack([query.astype(np.int32), hits[query, column]], axis=1), query, column


def _distinct(queries: Passages, pairs: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct pairs by text of the query, and for every pair the position of its distinct pair."""
    position = {text: number for number, text in enumerate(queries.texts)}
    same = np.array([position[text] for text in queries.texts], dtype=np.int32)
    distinct, row = np.unique(np.stack([same[pairs[:, 0]], pairs[:, 1]], axis=1), axis=0, return_inverse=True)
    return distinct, row.ravel()


def build_rerank(
    reranker: PlainReranker,
    data: DatasetStages,
    chunks: Stage[Spans],
    queries: Stage[Queries],
    hits: Stage[Hits],
    n_hits: int,
) -> Stage[Hits]:
    """Return the stage that reranks `hits`, or `hits` itself for a depth of 0.

    `queries` have one text per sample, with at most `n_hits` hits each.
    """
    if not reranker.depth:
        return hits
    if isinstance(reranker, ListReranker):
        texts = QueryPassages(queries), ChunkPassages(data.corpus, chunks)
        return ReorderedHits(hits, LLMHitOrders(reranker, hits, *texts, data.n_samples, n_hits))
    return RerankedHits(
        reranker,
        hits,
        QueryPassages(queries, build_query_terms(reranker.tokenizer, queries, data)),
        ChunkPassages(data.corpus, chunks, build_corpus_terms(reranker.tokenizer, data)),
        sub_corpora.split_corpus(data, chunks),
        (encoded_queries(reranker.encoder, queries), encoded_chunks(reranker.encoder, data, chunks))
        if isinstance(reranker, EncodedReranker)
        else (),
        n_hits,
    )
