"""Hits that break the contract of indexes and fusions end the stage with the name of the class."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from components.errors import ComponentError
from components.fusions.rrf import ReciprocalRank
from components.records import Hits
from components.text.ranking import hits_in_order
from runner.pipeline.search.checked_hits import min_chunk_count, validate_hits

FUSION = ReciprocalRank()
HITS = hits_in_order([[2, 0], [1]])


def changed(chunk: Sequence[Sequence[int]], score: Sequence[Sequence[float]] = ((1.0, 0.5), (1.0, 0.5))) -> Hits:
    return Hits(np.array(chunk, dtype=np.int32), np.array(score, dtype=np.float32))


def test_valid_hits_pass_the_check() -> None:
    assert validate_hits(HITS, 2, 3, FUSION) is HITS
    assert validate_hits(hits_in_order([]), 0, 0, FUSION).chunk.shape == (0, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "returned NoneType, expected Hits"),
        (Hits(HITS.chunk.tolist(), HITS.score.tolist()), "columns are not two-dimensional arrays, integers"),
        (Hits(HITS.chunk.ravel(), HITS.score.ravel()), "columns are not two-dimensional arrays, integers"),
        (Hits(HITS.score, HITS.score), "columns are not two-dimensional arrays, integers"),
        (Hits(HITS.chunk[:1], HITS.score[:1]), "chunks (1, 2) and scores (1, 2), expected equal shapes of 2 rows"),
        (Hits(HITS.chunk, HITS.score[:, :1]), "chunks (2, 2) and scores (2, 1), expected equal shapes of 2 rows"),
        (changed([[0, 1], [2, 3]]), "query 1 has the chunk 3, expected 0 to 2, or -1 for no hit"),
        (changed([[0, 1], [2, -2]]), "query 1 has the chunk -2, expected 0 to 2, or -1 for no hit"),
        (changed([[0, 1], [2, 0]], [[1.0, np.nan], [1.0, 0.5]]), "query 0 has the score nan for chunk 1"),
        (changed([[0, 1], [-1, 2]]), "query 1 has no hit at rank 1 but one after it"),
        (changed([[0, 1], [2, 0]], [[1.0, 1.0], [0.5, 1.0]]), "query 1 has the score 1.0 after 0.5, expected the best"),
        (changed([[0, 1], [2, 2]]), "query 1 has the chunk 2 twice, expected each once"),
    ],
)  # fmt: skip
def test_invalid_hits_are_rejected(wrong: Hits, message: str) -> None:
    with pytest.raises(ComponentError, match=rf"^components\.fusions\.rrf\.ReciprocalRank: .*{re.escape(message)}"):
        validate_hits(wrong, 2, 3, FUSION)


def test_diverse_hits_need_no_order_by_score() -> None:
    hits = changed([[0, 1], [2, 0]], [[0.5, 1.0], [1.0, 0.5]])
    assert validate_hits(hits, 2, 3, FUSION, by_score=False) is hits


def test_ranking_positions_are_counted() -> None:
    assert min_chunk_count([HITS, hits_in_order([[4], []])]) == 5
    assert min_chunk_count([hits_in_order([[], []])]) == 0
