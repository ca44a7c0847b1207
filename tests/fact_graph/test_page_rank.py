import numpy as np
import pytest
from scipy.sparse import csr_matrix

from components.fact_graph.page_rank import n_steps, page_rank

EDGES = csr_matrix(
    np.array([[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=np.float32)
)  # the last node has no neighbours
SEEDS = np.array([[1, 0, 0, 0], [0, 0.5, 0, 0.5], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=np.float64).T


def test_page_ranks_sum_to_the_seed_weights() -> None:
    assert page_rank(EDGES, SEEDS, 0.5, 40).sum(axis=0) == pytest.approx([1, 1, 1, 0])


def test_page_rank_follows_weights_and_returns_to_the_seeds() -> None:
    first, second, alone, none = page_rank(EDGES, SEEDS, 0.5, 60).T
    assert first == pytest.approx([2 / 3, 2 / 9, 1 / 9, 0])
    assert second[0] == pytest.approx(0.5 * (second[1] + second[2]))
    assert second[3] == pytest.approx((0.5 + 0.5 * second[3]) * 0.5), "it has no neighbours, so the walk returns"
    assert alone.tolist() == [0, 0, 0, 1]
    assert none.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("damping", "tolerance"), [(0.5, 1e-3), (0.85, 1e-6), (0.05, 0.9), (0.99, 1e-9)])
def test_page_rank_steps_reach_the_tolerance(damping: float, tolerance: float) -> None:
    steps = n_steps(damping, tolerance)
    exact = page_rank(EDGES, SEEDS, damping, 5000)
    assert np.abs(page_rank(EDGES, SEEDS, damping, steps) - exact).sum(axis=0).max() <= tolerance
    assert steps == 1 or 2 * damping ** (steps - 1) > tolerance
