"""Pairs of texts, as models read them."""

import numpy as np
from numpy.typing import NDArray

from components.records import Passages

TextPair = tuple[str, str]
"""A query and a chunk."""


def distinct_pairs(
    queries: Passages, chunks: Passages, pairs: NDArray[np.int32]
) -> tuple[list[TextPair], NDArray[np.int64]]:
    """Return the distinct pairs of texts, sorted, and the index of each given pair among them, int64[n_pairs].

    `pairs` are int32[n_pairs, 2] of (query, chunk) positions. Sorting makes the batches of a model independent of the
    order of the pairs.
    """
    query_texts = {query: queries.texts[query] for query in set(pairs[:, 0].tolist())}
    chunk_texts = {chunk: chunks.texts[chunk] for chunk in set(pairs[:, 1].tolist())}
    texts = [(query_texts[query], chunk_texts[chunk]) for query, chunk in pairs.tolist()]
    distinct = sorted(set(texts))
    place = {pair: number for number, pair in enumerate(distinct)}
    return distinct, np.array([place[pair] for pair in texts], dtype=np.int64)
