"""Maximal marginal relevance by the terms of chunks."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.diversity.marginal_relevance import by_marginal_relevance, range_errors
from components.protocols import WordTokenizer
from components.records import Hits, Passages, Terms
from components.text.sparse_counts import count_matrix, inverse_document_frequency
from components.tokenizers.rjieba_words import RjiebaWords


@dataclass(frozen=True)
class MmrByTerms:
    """Maximal marginal relevance with the cosine of TF-IDF vectors as the similarity of hits.

    The IDF is computed among the hits of the query, because a term in all hits distinguishes none. `relevance_weight`
    is lambda in the paper: 1 keeps the ranking, 0 considers novelty only. It reorders `depth` hits per query.
    """

    relevance_weight: float = 0.7
    depth: int = 100
    tokenizer: WordTokenizer = RjiebaWords()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range."""
        return range_errors(self.depth, self.relevance_weight)

    def diversify(self, hits: Hits, chunks: Passages) -> Hits:
        """Return the hits with the first `depth` per query reordered and rescored."""
        terms = chunks.terms
        assert terms is not None, "it has a tokenizer, so terms are filled"

        used = np.unique(hits.chunk[hits.chunk >= 0])
        all_counts = count_matrix(Terms(terms.ids, terms.first[used], terms.last[used], terms.n_vocabulary))

        def similarity(candidates: NDArray[np.int32]) -> NDArray[np.float64]:
            counts = all_counts[np.searchsorted(used, candidates)]
            counts.data = counts.data * inverse_document_frequency(counts)[counts.indices]
            products: NDArray[np.float64] = (counts @ counts.T).toarray()
            length = np.sqrt(products.diagonal())
            norm = np.outer(length, length)
            cosine: NDArray[np.float64] = np.divide(products, norm, out=np.zeros_like(norm), where=norm > 0)
            return cosine

        return by_marginal_relevance(hits, self.depth, self.relevance_weight, similarity)
