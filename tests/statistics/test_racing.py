"""Races over simulated sweeps. The long form is `python -m benchmarks racing`."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks import racing as simulations
from components.statistics import Race, RaceRules, Races, Stop, replay, share_before_stop
from components.statistics.racing import Bets, log_wealth

Scores = NDArray[np.float64]

RULES = RaceRules()


def finished(scores: Scores, rules: RaceRules = RULES, stoppable: list[bool] | None = None) -> tuple[Race, list[Stop]]:
    n_samples, n_cells = scores.shape
    race, stops = Race(n_cells, n_samples, rules, stoppable), list[Stop]()
    for n_seen in rules.looks(n_samples):
        stops += race.look(scores[race.n_seen : n_seen])
    return race, stops


def graded(seed: int, n_samples: int = 300, n_cells: int = 6) -> Scores:
    random = np.random.default_rng(seed)
    scores: Scores = random.random((n_samples, n_cells)) * 0.5 + np.linspace(0, 0.5, n_cells)
    return scores


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        (0.0, [1.0, 0.6441860465, 0.4728468419, 1.011044567, 0.7567424527, 1.458990642, 2.620568805]),
        (0.05, [1.28, 1.002855125, 1.113686776, 3.350153513, 3.366467311, 9.362739163, 27.20041747]),
        (-0.1, [1.0, 0.5932084309, 0.5932084309, 0.5756446534, 0.5305031798, 0.5305031798, 0.4740236455]),
    ],
)
def test_wealth_equals_the_wealth_of_confseq(margin: float, expected: list[float]) -> None:
    """From confseq 0.0.11 with the same bets: `betting_mart((1 - d) / 2, (1 - margin) / 2, N=40, theta=1,
    convex_comb=True, trunc_scale=.9, lambdas_fn_positive=...)`, whose function returns 2 max(0, g / (v + g^2)).
    """
    d = np.array([((7 * i + 3) % 11 - 6) / 10 for i in range(24)])
    wealth = np.exp(log_wealth(Bets.after(np.zeros((0, 1)), d[:, np.newaxis]), 40, margin)[:, 0])
    assert wealth[[0, 3, 7, 11, 15, 19, 23]].tolist() == pytest.approx(expected, rel=1e-8)


def test_wealth_continues_across_blocks() -> None:
    d = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    whole = log_wealth(Bets.after(np.zeros((0, 3)), d), 80)
    first = log_wealth(Bets.after(np.zeros((0, 3)), d[:20]), 80)
    second = first[-1] + log_wealth(Bets.after(d[:20], d[20:]), 80)
    np.testing.assert_allclose(np.concatenate([first, second]), whole)


def test_race_looks_at_fixed_numbers_of_samples() -> None:
    assert RULES.looks(100) == [20, 30, 40, 50, 60, 70, 80, 90]
    assert RULES.looks(1000)[:3] == [20, 53, 86]
    assert RULES.looks(20) == []


def test_race_stops_worse_cells_and_keeps_the_winner() -> None:
    race, stops = finished(graded(1))
    assert race.live.tolist() == [False, False, False, False, False, True]
    assert [stop.opponent for stop in stops] == [5] * 5
    assert stops[0].n_seen < stops[-1].n_seen
    assert all(stop.wealth >= 1 / RULES.alpha for stop in stops)


def test_race_stops_a_cell_that_cannot_catch_up_without_bets() -> None:
    """After 60 of 100 samples it is 60 behind, and can gain 40. With the smallest alpha, no bet decides."""
    scores = np.column_stack([np.ones(100), np.zeros(100)])
    _, (stop,) = finished(scores, RaceRules(alpha=1e-300))
    assert stop == Stop(cell=1, n_seen=60, opponent=0, wealth=np.inf)


def test_race_keeps_an_unstoppable_cell_as_an_opponent() -> None:
    race, stops = finished(graded(1), stoppable=[False, True, True, True, True, False])
    assert race.live.tolist() == [True, False, False, False, False, True]
    assert {stop.opponent for stop in stops} == {5}


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_race_lets_equal_cells_finish(value: float) -> None:
    race, stops = finished(np.full((200, 4), value))
    assert not stops
    assert race.live.all()
    assert race.shortfall(2) == 0.0


def test_race_treats_cells_with_equal_scores_equally() -> None:
    scores = graded(2)
    _, stops = finished(scores[:, [0, 0, 3, 3, 5]])
    by_cell = {stop.cell: stop.n_seen for stop in stops}
    assert by_cell[0] == by_cell[1]
    assert by_cell.get(2) == by_cell.get(3)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("margin", [0.0, 0.02])
def test_race_does_not_depend_on_the_order_of_cells(seed: int, margin: float) -> None:
    scores, order = graded(seed), np.random.default_rng(seed).permutation(6)
    rules = RaceRules(margin=margin)
    race, stops = finished(scores, rules)
    permuted, own = finished(scores[:, order], rules)
    assert {(order[stop.cell], stop.n_seen) for stop in own} == {(stop.cell, stop.n_seen) for stop in stops}
    assert permuted.live.tolist() == race.live[order].tolist()


@pytest.mark.parametrize("seed", range(20))
def test_race_ignores_later_scores_of_stopped_cells(seed: int) -> None:
    """Later answers of a stopped cell are never requested."""
    scores, unknown = graded(seed), graded(seed)
    _, stops = finished(scores)
    for stop in stops:
        unknown[stop.n_seen :, stop.cell] = np.nan
    assert finished(unknown)[1] == stops


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scores", [graded, lambda seed: np.round(graded(seed) * 2) / 2], ids=["graded", "ties"])
def test_cell_stopped_by_a_race_is_behind_a_live_leader(seed: int, scores: object) -> None:
    values: Scores = scores(seed)  # type: ignore[operator]
    race, n_stops = Race(6, 300, RULES), 0
    for n_seen in RULES.looks(300):
        live = race.live.copy()
        sums = values[:n_seen].sum(axis=0)
        for stop in race.look(values[race.n_seen : n_seen]):
            assert race.live[stop.opponent]
            assert sums[stop.opponent] == pytest.approx(sums[live].max())
            n_stops += 1
    assert n_stops


def test_race_continues_after_a_cell_leaves() -> None:
    scores = graded(1)
    race = Race(6, 300, RULES)
    stops = race.look(scores[:10])
    race.leave(5)
    scores[:, 5] = np.nan
    for n_seen in RULES.looks(300):
        stops += race.look(scores[race.n_seen : n_seen])
    assert race.live.tolist() == [False, False, False, False, True, False]
    assert {stop.opponent for stop in stops} == {4}


class TestErrorRate:
    """The short form of `python -m benchmarks racing`."""

    n_sweeps = 120
    most = stats.binom.ppf(0.995, n_sweeps, RULES.alpha)

    @pytest.mark.parametrize("kind", simulations.KINDS)
    def test_race_rarely_stops_the_winner(self, kind: str) -> None:
        random = np.random.default_rng(3)
        lost = sum(simulations.simulate_race(kind, random, RULES).is_lost for _ in range(self.n_sweeps))
        assert lost <= self.most

    @pytest.mark.parametrize("kind", ["normal noise", "binary, .98", "graded cells"])
    @pytest.mark.parametrize("mode", ["targets", "cost"])
    def test_race_rarely_stops_the_winner_of_any_target_or_cost(self, kind: str, mode: str) -> None:
        random = np.random.default_rng(3)
        losses = [simulations.simulate_race(kind, random, RULES, mode).losses for _ in range(self.n_sweeps)]
        assert (np.array(losses) > 0).sum(axis=0).max() <= self.most

    @pytest.mark.parametrize("kind", ["normal noise", "binary, .98", "rare, bad failures"])
    def test_race_with_a_margin_rarely_loses_more(self, kind: str) -> None:
        random, rules = np.random.default_rng(3), RaceRules(margin=0.02)
        races = [simulations.simulate_race(kind, random, rules) for _ in range(self.n_sweeps)]
        assert sum(race.loss > rules.margin for race in races) <= self.most
        assert any(race.is_lost for race in races), "otherwise the margin is not tested"

    def test_race_that_stops_at_every_lead_loses_many_winners(self) -> None:
        """The many lost winners show that the tests above can fail."""
        random = np.random.default_rng(3)
        lost = [simulations.simulate_race("normal noise", random, RaceRules(alpha=0.9)).is_lost for _ in range(40)]
        assert sum(lost) > stats.binom.ppf(0.995, 40, RULES.alpha)


class TestTargets:
    """Races for several groups of samples."""

    def test_racing_lets_the_winner_of_a_subset_finish(self) -> None:
        scores, members = graded(1), np.ones((300, 2), dtype=np.bool_)
        members[::3, 1] = False
        scores[members[:, 1], 0] += 0.1
        scores[members[:, 1], 2] = 1.0
        scores[~members[:, 1], 2] = 0.0
        assert scores.mean(axis=0).argmax() == 5
        assert replay(scores).live.tolist() == [False, False, False, False, False, True]
        raced = replay(scores, members=members)
        assert raced.live.tolist() == [False, False, True, False, False, True]
        assert replay(scores).share < raced.share < 1

    def test_target_of_all_samples_equals_no_target(self) -> None:
        scores, members = graded(3), np.ones((300, 2), dtype=np.bool_)
        assert replay(scores, members=members).share == replay(scores).share

    def test_race_stop_counts_samples_of_all_targets(self) -> None:
        scores, members = graded(1), np.ones((300, 2), dtype=np.bool_)
        members[::2, 1] = False
        races = Races(6, members, RULES)
        stops = [stop for first in range(0, 300, 50) for stop in races.look(scores[first : first + 50])]
        assert len(stops) == 5
        assert {stop.n_seen for stop in stops} <= {50, 100, 150, 200, 250, 300}
        assert not any(races.live[stop.cell] for stop in stops)


class TestCosts:
    """Races in which a cell stops only behind cells that cost no more."""

    def test_cost_race_keeps_the_front_of_quality_and_cost(self) -> None:
        """Quality rises from cell to cell: the three most expensive are worse than the cheap last one."""
        raced = replay(graded(1, 1000), costs=[1, 2, 3, 5, 5, 4])
        assert raced.live.tolist() == [True, True, True, False, False, True]

    def test_race_with_equal_costs_equals_a_race_without_costs(self) -> None:
        assert replay(graded(1), costs=[2.0] * 6).share == replay(graded(1)).share

    def test_cell_of_unknown_cost_finishes_and_stops_no_other_cell(self) -> None:
        raced = replay(graded(1), costs=[1, 1, 1, 1, 1, np.nan])
        assert raced.live.tolist() == [False, False, False, False, True, True]
        assert replay(graded(1), costs=[np.nan, 1, 1, 1, 1, 1]).live.tolist() == [
            True,
            False,
            False,
            False,
            False,
            True,
        ]

    def test_further_costs_require_more_evidence(self) -> None:
        """Without more evidence, some cell of a large front would be stopped more often than alpha."""
        scores = graded(1)[:, [3] + [5] * 9]
        assert replay(scores, costs=range(10, 0, -1)).share > replay(scores).share


class TestShortfall:
    """The bound on how far a cell is behind the winner of the full run."""

    def test_shortfall_of_a_stopped_cell_is_positive_and_below_the_truth(self) -> None:
        scores = graded(1)
        race, stops = finished(scores)
        behind = scores.mean(axis=0).max() - scores.mean(axis=0)
        bounds = {stop.cell: race.shortfall(stop.cell) for stop in stops}
        assert all(0 < bound < behind[cell] for cell, bound in bounds.items())
        assert bounds[0] > bounds[4]

    def test_shortfall_includes_a_lead_that_perfect_scores_cannot_close(self) -> None:
        race = Race(2, 100, RaceRules(alpha=1e-300))
        race.look(np.column_stack([np.ones(70), np.zeros(70)]))
        assert race.shortfall(1) == pytest.approx(0.4, abs=1e-3)

    def test_shortfall_bound_covers_the_truth(self) -> None:
        random, wrong = np.random.default_rng(5), 0
        for _ in range(60):
            scores = random.random((200, 3))
            race, _ = finished(scores)
            behind = scores.mean(axis=0).max() - scores.mean(axis=0)
            wrong += any(race.shortfall(cell) > behind[cell] + 1e-9 for cell in range(3))
        assert wrong <= 3 * stats.binom.ppf(0.99, 60, RULES.alpha)


def test_cells_near_the_winner_are_asked_for_more_samples() -> None:
    """The shares of cells that end 3, 4, 6, 8 and 12 standard errors behind."""
    assert [round(share_before_stop(z), 2) for z in (0, 3, 4, 6, 8, 12)] == [1.0, 0.53, 0.38, 0.22, 0.14, 0.06]
