import numpy as np

from components.fusions.union import sum_by_chunk


def test_scores_of_the_same_chunk_are_added() -> None:
    chunks = [np.array([[4, 2]]), np.array([[2, -1]]), np.array([[2, 4, 9]])]
    parts = [np.array([[1.0, 2.0]]), np.array([[4.0, 99.0]]), np.array([[8.0, 16.0, 32.0]])]
    hits = sum_by_chunk([chunk.astype(np.int32) for chunk in chunks], parts, 4)
    assert hits.chunk.tolist() == [[9, 4, 2, -1]]
    assert hits.score.tolist() == [[32.0, 17.0, 14.0, -np.inf]]
