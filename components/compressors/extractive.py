"""A compressor that keeps the sentences with the best reranker scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.compressors.sentence_pieces import (
    Sentence,
    best_within,
    count_tokens,
    join_sentences,
    keep_whole,
    split_passages,
)
from components.protocols import AsksInBatches, Reranker, Tokenizer, WordTokenizer
from components.records import CompressedPassages, Passages
from components.text.corpus_tables import build_term_table, query_terms
from components.tokenizers.cl100k import Cl100k


@dataclass(frozen=True)
class ExtractiveByReranker:
    """Keeps the best-scored sentences of a prompt's passages, up to `share` of their tokens.

    The reranker scores each sentence of a query's passages against the query. Its `depth` does not matter. Sentences
    stay in their order, and the best one always stays. A passage without any of them is left out.
    Source: Xu et al. 2024, "RECOMP", section 3.1 (extractive compressor), with any scorer.
    """

    reranker: Reranker
    share: float = 0.5
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for a share out of range, and for a reranker behind a server."""
        problems = [] if 0 < self.share <= 1 else [f"share: got {self.share}, expected a share in (0, 1]"]
        if isinstance(self.reranker, AsksInBatches):
            problems.append(
                f"reranker: got {type(self.reranker).__name__}, which calls a server, expected a reranker that runs "
                "here"
            )
        return problems

    def compress(self, queries: Sequence[str], passages: Sequence[Sequence[str]]) -> list[CompressedPassages]:
        """Return the pieces per query."""
        sentences = [split_passages(row) for row in passages]
        scores = self._scores(queries, [[sentence.text for sentence in row] for row in sentences])
        return [self._best(*row) for row in zip(sentences, scores, passages, strict=True)]

    def _best(
        self, sentences: Sequence[Sentence], scores: NDArray[np.float32], passages: Sequence[str]
    ) -> CompressedPassages:
        if not sentences:
            return keep_whole(passages)
        n_tokens = count_tokens([sentence.text for sentence in sentences], self.tokenizer)
        budget = self.share * int(count_tokens(passages, self.tokenizer).sum())
        return join_sentences(
            [sentences[position] for position in best_within(n_tokens, scores, budget)], len(passages)
        )

    def _scores(self, queries: Sequence[str], sentences: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """Return the scores of each query's sentences. Word rarity is computed over the sentences of the same query
        only.
        """
        words = self.reranker.tokenizer
        if words is not None:
            return [self._scores_by_words(*row, words) for row in zip(queries, sentences, strict=True)]
        texts = list(dict.fromkeys(text for row in sentences for text in row))
        positions = {text: number for number, text in enumerate(texts)}
        pairs = [(query, positions[text]) for query, row in enumerate(sentences) for text in row]
        scores = self.reranker.score(Passages(queries), Passages(texts), _as_array(pairs))
        return np.split(scores, np.cumsum([len(row) for row in sentences])[:-1]) if sentences else []

    def _scores_by_words(self, query: str, sentences: Sequence[str], words: WordTokenizer) -> NDArray[np.float32]:
        table = build_term_table(sentences, words)
        query_passage = Passages([query], query_terms([query], words, table))
        pairs = _as_array([(0, position) for position in range(len(sentences))])
        return self.reranker.score(query_passage, Passages(sentences, table.document_terms()), pairs)


def _as_array(pairs: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)
