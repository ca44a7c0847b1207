"""Scores kept by query and chunk."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from runner.engine.store.pair_scores import PairScores


def pairs(*rows: tuple[int, int]) -> NDArray[np.int32]:
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def look_up(scores: PairScores, queries: list[str], *rows: tuple[int, int]) -> list[float]:
    return [float(score) for score in scores.look_up(queries, pairs(*rows))]


NAN = pytest.approx(float("nan"), nan_ok=True)


def test_there_is_nothing_at_first(tmp_path: Path) -> None:
    assert look_up(PairScores(tmp_path / "none"), ["a"], (0, 0)) == [NAN]


def test_scores_are_found_by_the_text_of_the_query_not_by_its_place(tmp_path: Path) -> None:
    PairScores(tmp_path).add(["a", "b"], pairs((0, 5), (1, 5), (1, 0)), floats(0.5, 1.5, -2.0))
    assert look_up(PairScores(tmp_path), ["new", "b", "a"], (1, 0), (2, 5), (0, 5), (1, 5), (2, 0)) == [
        -2.0, 0.5, NAN, 1.5, NAN,
    ]  # fmt: skip


def test_blocks_add_up(tmp_path: Path) -> None:
    scores = PairScores(tmp_path)
    scores.add(["a"], pairs((0, 1)), floats(1.0))
    scores.add(["b", "a"], pairs((0, 1), (1, 2)), floats(2.0, 3.0))
    scores.add(["b"], pairs(), floats())
    assert len(list(tmp_path.iterdir())) == 2, "a block of no pairs is not written"
    assert look_up(scores, ["a", "b"], (0, 1), (0, 2), (1, 1), (1, 2)) == [1.0, 3.0, 2.0, NAN]


def test_equal_texts_are_one_query(tmp_path: Path) -> None:
    scores = PairScores(tmp_path)
    scores.add(["same", "same"], pairs((0, 1), (1, 2)), floats(1.0, 2.0))
    assert look_up(scores, ["same", "other", "same"], (0, 1), (2, 1), (0, 2), (2, 2), (1, 1)) == [
        1.0,
        1.0,
        2.0,
        2.0,
        NAN,
    ]


def test_a_large_chunk_position_is_not_another_query(tmp_path: Path) -> None:
    scores = PairScores(tmp_path)
    largest = 2**31 - 1
    scores.add(["a", "b"], pairs((0, largest), (1, 0)), floats(1.0, 2.0))
    assert look_up(scores, ["a", "b"], (0, largest), (1, largest), (1, 0), (0, 0)) == [1.0, NAN, 2.0, NAN]


def test_a_damaged_block_counts_as_none(tmp_path: Path) -> None:
    scores = PairScores(tmp_path)
    scores.add(["a"], pairs((0, 1)), floats(1.0))
    (block,) = tmp_path.iterdir()
    scores.add(["a"], pairs((0, 2)), floats(2.0))
    block.write_bytes(block.read_bytes()[:-20])
    assert look_up(scores, ["a"], (0, 1), (0, 2)) == [NAN, 2.0]
