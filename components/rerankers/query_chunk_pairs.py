"""Pairs of a query and a chunk that a model reads together: distinct texts, and numbers of tokens."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.pretrained.token_limit import count_tokens, special_tokens, token_limit
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
    index = {pair: number for number, pair in enumerate(distinct)}
    return distinct, np.array([index[pair] for pair in texts], dtype=np.int64)


MIN_TOKENS = 8
"""Minimum `max_length` of a pair. Up to four tokens are special; if only these fit, transformers cuts nothing at
all.
"""


def pair_limit(model: str, revision: str, max_length: int) -> int:
    """Return `max_length`, or the model's limit if it is smaller. Raises ComponentError if the model cannot be
    reached.
    """
    return min(max_length, token_limit(model, revision) or max_length)


def count_queries(model: str, revision: str, texts: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[n_texts], including the special tokens of a pair. Raises ComponentError if the tokenizer cannot be
    loaded.
    """
    return count_chunks(model, revision, texts) + special_tokens(model, revision, of_pair=True)


def count_chunks(model: str, revision: str, texts: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[n_texts], without special tokens. Raises ComponentError if the tokenizer cannot be loaded."""
    return count_tokens(model, revision, texts) - special_tokens(model, revision, of_pair=False)
