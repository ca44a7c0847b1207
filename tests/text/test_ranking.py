import numpy as np

from components.text.ranking import best_columns, empty_hits, select_best, sort_hits


def test_sorted_hits_are_ordered_by_score_then_position_and_padded() -> None:
    chunk = np.array([[5, -1, 2, 9], [-1, -1, -1, -1]], dtype=np.int32)
    score = np.array([[1.0, 99.0, 1.0, 3.0], [0.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    hits = sort_hits(chunk, score, 5)
    assert hits.chunk.tolist() == [[9, 2, 5, -1, -1], [-1] * 5]
    assert hits.score.tolist() == [[3.0, 1.0, 1.0, -np.inf, -np.inf], [-np.inf] * 5]
    assert (hits.chunk.dtype, hits.score.dtype) == (np.int32, np.float32)


def test_sorted_hits_keep_the_best_of_the_depth() -> None:
    hits = sort_hits(np.array([[0, 1, 2]], dtype=np.int32), np.array([[1, 3, 2]], dtype=np.float32), 2)
    assert hits.chunk.tolist() == [[1, 2]]


def test_best_of_breaks_ties_by_position() -> None:
    chunk, score = select_best(np.array([1, 0, 2, 1, -1, 1], dtype=np.float32), 3)
    assert chunk.tolist() == [2, 0, 3]
    assert score.tolist() == [2, 1, 1]


def test_best_of_excludes_non_positive_scores() -> None:
    chunk, score = select_best(np.array([0, -1, 0.5], dtype=np.float32), 10)
    assert (chunk.tolist(), score.tolist()) == ([2], [0.5])


def test_empty_query_list_has_no_hits() -> None:
    assert empty_hits(0, 3).chunk.shape == (0, 3)
    assert sort_hits(np.zeros((0, 4), dtype=np.int32), np.zeros((0, 4), dtype=np.float32), 3).chunk.shape == (0, 3)


def test_best_columns_equal_a_full_sort() -> None:
    draw = np.random.default_rng(0)
    for n_columns, depth in ((1, 1), (7, 3), (40, 40), (40, 99), (40, 5)):
        score = draw.integers(-3, 3, (30, n_columns)).astype(np.float32)
        score[draw.random(score.shape) < 0.3] = -np.inf
        chunk = np.where(score > -np.inf, np.arange(n_columns, dtype=np.int32), -1).astype(np.int32)
        expected = sort_hits(chunk, score, min(depth, n_columns))
        found = best_columns(score, depth)
        assert np.array_equal(found.chunk, expected.chunk)
        assert np.array_equal(found.score, expected.score)


def test_best_columns_accept_empty_scores() -> None:
    assert best_columns(np.zeros((3, 0)), 5).chunk.shape == (3, 0)
    assert best_columns(np.zeros((0, 4)), 2).chunk.shape == (0, 2)
    assert best_columns(np.zeros((2, 4)), 0).chunk.shape == (2, 0)
