"""The contract of the ranking of any component that returns Hits."""

import numpy as np

from components.records import Hits


def assert_is_ranking(hits: Hits, n_queries: int, depth: int) -> None:
    """Shapes, types, order, ties by position, padding, no chunk twice."""
    assert hits.chunk.shape == hits.score.shape == (n_queries, depth)
    assert (hits.chunk.dtype, hits.score.dtype) == (np.int32, np.float32)
    assert np.array_equal(hits.chunk == -1, hits.score == -np.inf)
    assert (hits.chunk >= -1).all()
    for chunks, scores in zip(hits.chunk.tolist(), hits.score.tolist(), strict=True):
        keys = [(-score, chunk if chunk >= 0 else np.inf) for chunk, score in zip(chunks, scores, strict=True)]
        assert keys == sorted(keys)
        found = [chunk for chunk in chunks if chunk >= 0]
        assert len(set(found)) == len(found)


def rankings_of(hits: Hits) -> list[list[int]]:
    """Chunk positions per query, without padding."""
    return [[chunk for chunk in row if chunk >= 0] for row in hits.chunk.tolist()]
