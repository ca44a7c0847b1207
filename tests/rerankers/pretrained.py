"""Shared parts of the tests of pretrained rerankers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.protocols import Reranker
from components.records import Passages
from tests.contracts.reranker_contract import CHUNKS, QUERIES

LONG = ("北京是中国的首都，" * 12, "abc 123 " * 90)
"""Both are more than half of what the tiny models read."""


def text_pairs(queries: Sequence[str] = QUERIES, chunks: Sequence[str] = (*CHUNKS, *LONG)) -> list[tuple[str, str]]:
    """Every query with every chunk."""
    return [(query, chunk) for query in queries for chunk in chunks]


def scores_of(reranker: Reranker, texts: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    """The scores of pairs of texts."""
    pairs = np.repeat(np.arange(len(texts), dtype=np.int32)[:, np.newaxis], 2, axis=1)
    queries, chunks = zip(*texts, strict=True)
    return reranker.score(Passages(queries), Passages(chunks), pairs)
