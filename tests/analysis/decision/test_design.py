"""Cells that represent each level: full grids, holes, axes that a cell does not use, one change at a time."""

from itertools import product

import numpy as np
import pytest

from analysis.decision.design import LevelDesign, Levels, level_design, tetrads


def levels(*cells: dict[str, str | None]) -> Levels:
    names = dict.fromkeys(name for cell in cells for name in cell)
    return {name: [cell.get(name) for cell in cells] for name in names}


def grid(**axes: str) -> list[dict[str, str | None]]:
    return [dict(zip(axes, values, strict=True)) for values in product(*(own.split() for own in axes.values()))]


def design(axis: str, *cells: dict[str, str | None]) -> LevelDesign:
    found = level_design(axis, levels(*cells))
    assert found is not None
    assert np.allclose(found.weights.sum(axis=0), 1.0)
    return found


def test_level_mean_of_a_full_grid_averages_its_cells() -> None:
    found = design("size", *grid(size="64 256", k="2 4 8"))
    assert found.levels == ("64", "256")
    assert found.weights.T.tolist() == [[1 / 3] * 3 + [0.0] * 3, [0.0] * 3 + [1 / 3] * 3]
    assert (found.n_combinations, found.n_possible, found.apart) == (3, 3, ())


def test_missing_cell_removes_its_combination_from_all_levels() -> None:
    cells = grid(size="64 256", k="2 4 8")
    found = design("size", *cells[:-1])
    assert found.weights.T.tolist() == [[0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5, 0.5]]
    assert (found.n_combinations, found.n_possible) == (2, 2)


def test_level_without_a_common_combination_is_listed_separately() -> None:
    cells = [*grid(size="64 256", k="2 4"), {"size": "512", "k": "8"}]
    found = design("size", *cells)
    assert (found.levels, found.apart, found.n_combinations) == (("64", "256"), ("512",), 2)
    assert not found.weights[-1].any()


def test_levels_are_compared_over_combinations_that_have_all_levels() -> None:
    cells = [*grid(size="64 256", k="2 4 8"), {"size": "512", "k": "4"}]
    found = design("size", *cells)
    assert (found.levels, found.n_combinations, found.n_possible) == (("64", "256", "512"), 1, 3)


def test_cell_without_an_axis_is_compared_with_all_levels_of_the_axis() -> None:
    cells = [*grid(retriever="bm25 dense", k="2 8"), {"retriever": "closed_book", "k": None}]
    found = design("retriever", *cells)
    assert found.levels == ("bm25", "dense", "closed_book")
    assert found.weights[:, 2].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert found.n_combinations == 2
    of_k = design("k", *cells)
    assert of_k.weights[-1].tolist() == [0.0, 0.0]


def test_component_settings_are_averaged_against_components_without_them() -> None:
    cells = [*grid(reranker="bge", depth="20 50", k="2 8"), *grid(reranker="none", k="2 8")]
    found = design("reranker", *cells)
    assert found.weights[:4, 0].tolist() == [0.25] * 4
    assert found.weights[4:, 1].tolist() == [0.5] * 2
    assert design("depth", *cells).n_combinations == 2


def test_one_at_a_time_levels_are_compared_only_with_the_base() -> None:
    base = {"a": "1", "b": "1", "c": "1"}
    cells = [base, {**base, "a": "2"}, {**base, "a": "3"}, {**base, "b": "2"}, {**base, "c": "2"}]
    found = design("a", *cells)
    assert found.weights.T.tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
    assert tetrads("a", "b", levels(*cells)) == []


def test_design_ignores_draws_that_one_level_lacks() -> None:
    cells = [*grid(size="64 256", repeat="0 1"), {"size": "64", "repeat": "2"}]
    assert design("size", *cells).weights.T.tolist() == [[0.5, 0.5, 0, 0, 0], [0, 0, 0.5, 0.5, 0]]


def test_levels_without_any_common_combination_cannot_be_compared() -> None:
    assert level_design("a", levels({"a": "1", "b": "1"}, {"a": "2", "b": "2"})) is None


def test_tetrads_average_combinations_of_all_four_cells() -> None:
    cells = grid(size="64 256", k="2 8", retriever="bm25 dense")
    (whole,) = tetrads("size", "k", levels(*cells))
    assert (whole.a, whole.b, whole.c, whole.d, whole.n_combinations) == ("64", "256", "2", "8", 2)
    assert whole.with_c.tolist() == [-0.5, -0.5, 0, 0, 0.5, 0.5, 0, 0]
    assert whole.with_d.tolist() == [0, 0, -0.5, -0.5, 0, 0, 0.5, 0.5]
    (part,) = tetrads("size", "k", levels(*cells[:-1]))
    assert part.with_c.tolist() == [-1, 0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(("n_sizes", "n_ks", "n"), [(2, 2, 1), (3, 2, 3), (4, 3, 18)])
def test_tetrads_pair_every_two_levels_of_two_axes(n_sizes: int, n_ks: int, n: int) -> None:
    cells = grid(size=" ".join(map(str, range(n_sizes))), k=" ".join(map(str, range(n_ks))))
    assert len(tetrads("size", "k", levels(*cells))) == n
