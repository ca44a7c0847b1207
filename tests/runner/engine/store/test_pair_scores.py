"""Stored scores of pairs. They are stored by query text, so that other sets of queries can reuse them."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from runner.engine.store.pair_scores import PairScores

QUERIES = ("where", "who", "when")


def pairs(*rows: tuple[int, int]) -> NDArray[np.int32]:
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def scores(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


@pytest.fixture
def pair_scores(tmp_path: Path) -> PairScores:
    stored = PairScores(tmp_path / "scores")
    stored.add(QUERIES, pairs((2, 5), (0, 7), (0, 3)), scores(1, 2, 3))
    return stored


def looked_up(stored: PairScores, queries: tuple[str, ...], *rows: tuple[int, int]) -> list[float | None]:
    found = stored.look_up(queries, pairs(*rows))
    assert (found.dtype, found.shape) == (np.float32, (len(rows),))
    return [None if np.isnan(score) else float(score) for score in found]


def test_new_pair_scores_are_empty(tmp_path: Path) -> None:
    stored = PairScores(tmp_path / "scores")
    assert looked_up(stored, QUERIES, (0, 1)) == [None]
    stored.add(QUERIES, pairs(), scores())
    assert not (tmp_path / "scores").exists()


def test_pair_scores_follow_the_order_of_the_pairs(pair_scores: PairScores) -> None:
    assert looked_up(pair_scores, QUERIES, (0, 3), (2, 5), (1, 5), (0, 7), (0, 8)) == [3, 1, None, 2, None]
    assert looked_up(pair_scores, QUERIES) == []


def test_pair_scores_identify_queries_by_their_text(pair_scores: PairScores) -> None:
    assert looked_up(pair_scores, ("when", "new", "where"), (0, 5), (1, 5), (2, 7)) == [1, None, 2]


def test_equal_queries_have_equal_scores(pair_scores: PairScores) -> None:
    assert looked_up(pair_scores, ("where", "who", "where"), (0, 7), (2, 7), (2, 3)) == [2, 2, 3]


def test_later_score_blocks_extend_earlier_blocks(pair_scores: PairScores, tmp_path: Path) -> None:
    PairScores(tmp_path / "scores").add(("who", "where"), pairs((0, 5), (1, 0)), scores(4, 5))
    assert looked_up(pair_scores, QUERIES, (1, 5), (0, 0), (0, 7)) == [4, 5, 2]
    assert [path.suffix for path in (tmp_path / "scores").iterdir()] == [".parquet"] * 2


def test_damaged_score_block_counts_as_missing(pair_scores: PairScores, tmp_path: Path) -> None:
    (block,) = (tmp_path / "scores").iterdir()
    block.write_bytes(block.read_bytes()[:-20])
    assert looked_up(pair_scores, QUERIES, (0, 7)) == [None]
    pair_scores.add(QUERIES, pairs((0, 7)), scores(2))
    assert looked_up(pair_scores, QUERIES, (0, 7)) == [2]


def test_score_block_with_a_flipped_bit_is_never_read(pair_scores: PairScores, tmp_path: Path) -> None:
    (block,) = (tmp_path / "scores").iterdir()
    content = block.read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        block.write_bytes(bytes(damaged))
        assert looked_up(pair_scores, QUERIES, (2, 5), (0, 7), (0, 3)) == [None, None, None]
        assert not block.exists()


def test_pair_scores_equal_a_plain_dictionary(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    queries = tuple(f"query {i}" for i in range(20))
    stored = PairScores(tmp_path / "scores")
    known: dict[tuple[int, int], float] = {}
    for _ in range(3):
        block = np.unique(np.stack([random.integers(0, 20, 50), random.integers(0, 99, 50)], axis=1), axis=0)
        block = np.array([row for row in block.tolist() if tuple(row) not in known], dtype=np.int32)
        values = random.random(len(block)).astype(np.float32)
        stored.add(queries, block, values)
        known |= {(q, c): float(v) for (q, c), v in zip(block.tolist(), values, strict=True)}
    every = [(q, c) for q in range(20) for c in range(99)]
    assert looked_up(stored, queries, *every) == [known.get(pair) for pair in every]


def test_largest_chunk_position_is_not_confused_with_the_next_query(tmp_path: Path) -> None:
    stored = PairScores(tmp_path / "scores")
    largest = 2**31 - 1
    stored.add(("where", "who"), pairs((0, largest), (1, 0)), scores(1, 2))
    assert looked_up(stored, ("where", "who"), (0, largest), (1, largest), (1, 0), (0, 0)) == [1, None, 2, None]
