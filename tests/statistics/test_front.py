import numpy as np

from components.statistics import dominators, pareto_front


def test_pareto_front_contains_the_cells_without_a_dominator() -> None:
    quality = np.array([0.9, 0.8, 0.8, 0.5, 0.4])
    cost = np.array([9.0, 3.0, 4.0, 1.0, 1.0])
    assert pareto_front(quality, cost).tolist() == [True, True, False, True, False]


def test_dominators_are_no_worse_in_both_and_better_in_one() -> None:
    quality, cost = np.array([0.5, 0.5, 0.6]), np.array([2.0, 1.0, 2.0])
    assert dominators(quality, cost).tolist() == [[False, True, True], [False, False, False], [False, False, False]]


def test_equal_cells_are_on_the_front_together() -> None:
    assert pareto_front(np.array([0.5, 0.5, 0.4]), np.array([1.0, 1.0, 1.0])).tolist() == [True, True, False]


def test_pareto_front_equals_its_definition_on_random_cells() -> None:
    random = np.random.default_rng(0)
    quality, cost = random.integers(6, size=40) / 5, random.integers(6, size=40) / 5
    points = list(zip(quality, cost, strict=True))
    expected = [
        not any(q >= own_q and c <= own_c and (q, c) != (own_q, own_c) for q, c in points) for own_q, own_c in points
    ]
    assert pareto_front(quality, cost).tolist() == expected


def test_front_of_an_empty_cell_list_is_empty() -> None:
    assert pareto_front(np.zeros(0), np.zeros(0)).shape == (0,)
