"""Strategies over functions of points, without sweeps."""

import subprocess
import sys
from collections.abc import Callable
from math import prod

import pytest

from benchmarks.search import share_needed
from components.errors import MissingExtraError
from runner.launch import search_strategies
from runner.launch.search_strategies import AxisShape, Point, Scores, make_strategy
from runner.pipeline.search_settings import SpaceSearchSettings, Strategy

SHAPES = (AxisShape(7, is_ordered=True), AxisShape(3), AxisShape(5, is_model=True), AxisShape(40, is_ordered=True))
SIZE = prod(shape.size for shape in SHAPES)
EVERY = [Strategy.RANDOM, Strategy.GREEDY, Strategy.TPE]


def hill(point: Point) -> Scores:
    """Has its only peak, 0, at (3, 1, 2, 30)."""
    return (-float((point[0] - 3) ** 2 + (point[1] != 1) + (point[2] != 2) + abs(point[3] - 30) / 4),)


def proposed(
    strategy: Strategy,
    n_points: int,
    score: Callable[[Point], Scores | None] = hill,
    seed: int = 0,
    shapes: tuple[AxisShape, ...] = SHAPES,
    n_objectives: int = 1,
) -> list[Point]:
    """Returns the first distinct points that a strategy proposes."""
    proposals = make_strategy(shapes, SpaceSearchSettings(strategy, seed=seed), n_objectives)
    points, seen = next(proposals), dict[Point, None]()
    while len(seen) < n_points:
        seen |= dict.fromkeys(points)
        try:
            points = proposals.send([score(point) for point in points])
        except StopIteration:
            break
    return list(seen)[:n_points]


@pytest.mark.parametrize("strategy", EVERY)
class TestEveryStrategy:
    def test_search_points_are_equal_for_equal_seeds_and_scores(self, strategy: Strategy) -> None:
        assert proposed(strategy, 40) == proposed(strategy, 40)
        assert proposed(strategy, 40) != proposed(strategy, 40, seed=1)

    def test_search_points_are_within_the_space(self, strategy: Strategy) -> None:
        for point in proposed(strategy, 60):
            assert all(0 <= place < shape.size for place, shape in zip(point, SHAPES, strict=True))

    def test_small_search_space_is_exhausted_without_repeats(self, strategy: Strategy) -> None:
        shapes = (AxisShape(3, is_ordered=True), AxisShape(2))
        found = proposed(strategy, 1000, shapes=shapes, score=lambda point: (float(sum(point)),))
        assert len(found) == len(set(found)) == 6

    def test_failed_search_points_do_not_end_the_search(self, strategy: Strategy) -> None:
        assert len(proposed(strategy, 60, score=lambda point: None)) == 60
        assert len(proposed(strategy, 60, score=lambda point: hill(point) if point[1] else None)) == 60

    def test_scores_before_the_first_batch_change_no_proposal(self, strategy: Strategy) -> None:
        first = proposed(strategy, 4)
        assert proposed(strategy, 4, score=lambda point: (1.0,)) == first, "no score is known before the first batch"


class TestGreedy:
    def test_greedy_search_varies_models_before_other_axes(self) -> None:
        first, *others = proposed(Strategy.GREEDY, 6)
        changed = [{axis for axis in range(4) if point[axis] != first[axis]} for point in others[:4]]
        assert changed == [{2}] * 4, "all values of the model before any other axis"

    def test_greedy_search_reaches_the_peak(self) -> None:
        found = proposed(Strategy.GREEDY, 60)
        assert max(map(hill, found)) == (0.0,)

    def test_greedy_search_narrows_a_long_axis_without_enumerating(self) -> None:
        shapes = (AxisShape(1000, is_ordered=True),)
        found = proposed(Strategy.GREEDY, 25, shapes=shapes, score=lambda point: (-abs(point[0] - 700.0),))
        assert min(abs(point[0] - 700) for point in found) <= 2

    def test_greedy_search_does_not_narrow_an_axis_of_equal_values(self) -> None:
        shapes = (AxisShape(1000, is_ordered=True), AxisShape(2))
        found = proposed(Strategy.GREEDY, 8, shapes=shapes, score=lambda point: (0.0,))
        assert len({point[1] for point in found[:8]}) == 2
        assert min(abs(a[0] - b[0]) for a in found[:5] for b in found[:5] if a[0] != b[0]) > 9

    def test_greedy_search_restarts_when_no_axis_improves(self) -> None:
        assert len({point[1] for point in proposed(Strategy.GREEDY, 200)}) == 3


class TestTpe:
    def test_tpe_finds_better_points_than_random_draws(self) -> None:
        def best(strategy: Strategy) -> float:
            return sum(max(map(hill, proposed(strategy, 50, seed=seed)))[0] for seed in range(4)) / 4

        assert best(Strategy.TPE) > best(Strategy.RANDOM)

    def test_tpe_spreads_several_objectives_over_the_front(self) -> None:
        def both(point: Point) -> Scores:
            return (float(point[3]), -float(point[3]) - abs(point[0] - 3))

        found = proposed(Strategy.TPE, 40, score=both, n_objectives=2)
        assert len({point[3] for point in found if point[0] == 3}) > 5

    def test_missing_optuna_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "optuna", None)
        with pytest.raises(MissingExtraError, match=r"search=tpe needs the package 'optuna'.*search"):
            make_strategy(SHAPES, SpaceSearchSettings(Strategy.TPE))
        assert make_strategy(SHAPES, SpaceSearchSettings(Strategy.GREEDY)), "needs no package"


@pytest.mark.parametrize("strategy", EVERY)
def test_search_replay_counts_cells_until_one_is_near_the_best(strategy: Strategy) -> None:
    shapes = [AxisShape(2), AxisShape(5, is_ordered=True)]
    table = {(a, b): (f"cell {b}", float(b == 3)) for a in range(2) for b in range(5)}
    shares = [share_needed(table, shapes, strategy, seed) for seed in range(20)]
    assert set(shares) <= {0.2, 0.4, 0.6, 0.8, 1.0}
    assert share_needed(table, shapes, strategy, 0, near=1.0) == 0.2, "the first cell is near enough"


def test_optuna_is_not_imported_without_its_strategy() -> None:
    code = f"import sys; import runner.launch.run_command, {search_strategies.__name__}; print('optuna' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.split()[-1] == "False"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (SpaceSearchSettings(Strategy.TPE, n_cells=0), "n_cells: got 0, expected at least 1"),
        (SpaceSearchSettings(Strategy.TPE, batch=0), "batch: got 0, expected at least 1"),
        (SpaceSearchSettings(Strategy.TPE, seed=-1), "seed: got -1"),
        (SpaceSearchSettings(Strategy.TPE, objectives=("em", "em")), "expected each of them once"),
        (
            SpaceSearchSettings(Strategy.GREEDY, objectives=("em", "cost")),
            "search=greedy takes the best value of an axis",
        ),
    ],
)
def test_searches_reject_invalid_settings(settings: SpaceSearchSettings, why: str) -> None:
    assert why in "".join(settings.check())
    assert not SpaceSearchSettings(Strategy.TPE, objectives=("em", "cost")).check()
