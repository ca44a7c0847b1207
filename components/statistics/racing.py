"""A race of cells over the samples of a sweep: cells that can no longer win stop early, with a known error rate.

All cells answer the same samples, in one random order. At a look, a cell is stopped if the samples seen so far refute
that it wins the full run. The only randomness is the order, so the scores may be skewed, dependent or clustered, and no
correction for the number of cells is needed.

For cell i, H(i) says that in the full run no other cell has a larger sum. Its opponent j led a few samples ago. S is
the sum of the differences D = x(i) - x(j) over the first t - 1 of N samples. Then H(i) implies that the differences of
the other samples average at least

    m = -S / (N - t + 1),

and the wealth of a gambler who bets on the opposite, the product of 1 - b (D - m) with 0 <= b <= .9 / (1 - m), is a
non-negative supermartingale: under H(i) it ever reaches 1 / alpha with probability alpha at most (Ville). H(i) speaks
of all opponents, so the opponent may change. If m exceeds 1, cell i cannot catch up even with perfect scores.

Sources: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting", section 5 (sampling
without replacement) and equation 26 (bets); the same 2020, "Confidence sequences for sampling without replacement".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

_MAX_STAKE = 0.9
"""The largest share of the wealth that a bet may lose."""

_VARIANCE = 0.06
"""Assumed variance of a difference before the first sample. It weighs as much as one sample."""

_EVERY = 5
"""Number of samples between two updates of the leader."""

_TOLERANCE = 1e-9

_ORDERS, _MAX_SAMPLES = (3, 20), 20_000
"""Minimum and maximum number of orders of a forecast, and of their samples. The share varies less over many samples."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RaceRules:
    """The error rate of a race, the loss that it accepts, and its looks.

    With probability 1 - `alpha`, the winner of the full run is not stopped. If several winners have equal sums, each is
    stopped with probability `alpha` at most, so at least one finishes with probability 1 - `alpha`. With a `margin`,
    the best cell that is not stopped is at most `margin` worse than the winner. The first look is after `first_look`
    samples.
    """

    alpha: float = 0.05
    margin: float = 0.0
    first_look: int = 20

    def looks(self, n_samples: int) -> list[int]:
        """Return the numbers of samples after which the race looks. All are smaller than `n_samples`."""
        return list(range(self.first_look, n_samples, max(10, n_samples // 30)))


@dataclass(frozen=True)
class Stop:
    """A cell that was stopped after `n_seen` samples, behind `opponent`. `wealth` is infinite if it cannot catch up."""

    cell: int
    n_seen: int
    opponent: int
    wealth: float


@dataclass(frozen=True)
class Bets:
    """The differences of some samples from the opponent, and the sums of the differences before each of them.

    All arrays are float64[n_samples, n_cells], but `n_before` is float64[n_samples, 1]. `total` and `squares` are the
    sums of the earlier differences from the same opponent and of their squares.
    """

    n_before: Floats
    difference: Floats
    total: Floats
    squares: Floats

    @classmethod
    def after(cls, earlier: Floats, difference: Floats) -> "Bets":
        """Return bets on `difference`, after `earlier` differences from the same opponent: float64[n, n_cells] each."""
        return cls.after_sums(len(earlier), earlier.sum(axis=0), (earlier**2).sum(axis=0), difference)

    @classmethod
    def after_sums(cls, n_before: int, total: Floats, squares: Floats, difference: Floats) -> "Bets":
        """Return bets on `difference`, after `n_before` differences with these sums: float64[n_cells] each."""
        return cls(
            np.arange(n_before, n_before + len(difference), dtype=np.float64)[:, np.newaxis],
            difference,
            total + difference.cumsum(axis=0) - difference,
            squares + (difference**2).cumsum(axis=0) - difference**2,
        )


def log_wealth(bets: Bets, n_samples: int, margin: float | Floats = 0.0) -> Floats:
    """Return the logarithm of the wealth after each sample, as float64[n_samples, n_cells], from a wealth of 1.

    The wealth grows with evidence against this hypothesis: in the full run, the cell beats every other one by at least
    `margin` (per sample; it may be negative).
    """
    needed = (n_samples * margin - bets.total) / (n_samples - bets.n_before)
    mean = bets.total / (bets.n_before + 1)
    variance = (bets.squares + _VARIANCE) / (bets.n_before + 1) - mean**2
    gap = needed - mean
    can_lose = np.where(needed < 1, 1 - needed, np.inf)
    bet = np.clip(gap / (variance + gap**2), 0, _MAX_STAKE / can_lose)
    grown: Floats = np.log1p(-bet * (bets.difference - needed)).cumsum(axis=0)
    return grown


class Race:
    """A race of `n_cells` over `n_samples`. Cells that are not `stoppable`, bool[n_cells], are opponents only.

    With `costs`, float64[n_cells], the opponents of a cell cost no more. A cell then stops if it is not on the front of
    quality and cost. The front has at most one cell per distinct cost, unless sums are equal, so the error rate is
    divided by the number of costs, and the whole front survives. A cell of unknown cost, NaN, is not an opponent and
    never stops.

    Decisions depend only on the scores. Without a margin, a cell stops when its wealth reaches 1 / alpha. With a
    margin, a cell that was an opponent stops only if it is worse than another one, at alpha / (2 n_cells); the others
    stop if none of them is better than all by the margin, at alpha / 2. A cell that stopped within the margin of
    another one therefore never was an opponent, and losses do not add up.
    """

    def __init__(
        self,
        n_cells: int,
        n_samples: int,
        rules: RaceRules = RaceRules(),
        stoppable: Sequence[bool] | None = None,
        costs: Sequence[float] | Floats | None = None,
    ) -> None:
        self._rules = rules
        self._n_samples = n_samples
        self._scores = np.full((n_samples, n_cells), np.nan)
        self._sums, self._total, self._squares = np.zeros((3, n_cells))
        self._stoppable = np.ones(n_cells, dtype=np.bool_) if stoppable is None else np.array(stoppable, dtype=np.bool_)
        self._may_oppose: NDArray[np.bool_] | None = None
        self._n_winners = 1
        if costs is not None:
            cell_costs = np.array(costs, dtype=np.float64)
            self._may_oppose = (cell_costs <= cell_costs[:, np.newaxis]) | np.eye(n_cells, dtype=np.bool_)
            self._n_winners = max(1, len(np.unique(cell_costs[~np.isnan(cell_costs)])))
        self._opponents: NDArray[np.intp] | None = None
        self._has_led = np.zeros(n_cells, dtype=np.bool_)
        self._margins = (0.0, rules.margin) if rules.margin else (0.0,)
        self._last = np.zeros((len(self._margins), n_cells))
        self._peak = np.zeros((len(self._margins), n_cells))
        self._bets: list[Bets] = []
        self.live = np.ones(n_cells, dtype=np.bool_)
        """bool[n_cells], False for the cells that were stopped or left."""
        self.n_seen = 0

    def look(self, scores: Floats) -> list[Stop]:
        """Add the scores of the next samples, float64[n, n_cells] in [0, 1] with larger ones better, and decide.

        The scores of stopped cells are ignored. Returns the cells that stop now, in order.
        """
        for first in range(0, len(scores), _EVERY):
            self._add(scores[first : first + _EVERY])
        sums, opponents = self._sums, self._opponents
        assert opponents is not None, "a look has samples"
        wealth = np.exp(np.minimum(self._select_decisive(self._peak), 700.0))
        margin = self._select_decisive(np.array(self._margins)[:, np.newaxis])
        behind = np.where(self.live, sums[opponents], 0.0) - np.where(self.live, sums, 0.0)
        lost = self._n_samples * margin + behind > self._n_samples - self.n_seen + _TOLERANCE
        wealth = np.where(lost, np.inf, wealth)
        is_stopped = self.live & self._stoppable & (wealth >= 1 / self._levels())
        is_stopped[opponents == np.arange(len(opponents))] = False
        self.live &= ~is_stopped
        stopped = np.flatnonzero(is_stopped).tolist()
        return [Stop(cell, self.n_seen, int(opponents[cell]), float(wealth[cell])) for cell in stopped]

    def leave(self, cell: int) -> None:
        """Remove a failed cell, which has no further scores, from the race."""
        self.live[cell] = False
        if self._opponents is not None and cell in self._opponents:
            self._opponents = None

    def _add(self, scores: Floats) -> None:
        """Bet on some samples, add them, and determine the opponents."""
        if self._opponents is not None:
            self._update_wealth(scores, self._opponents)
        self._scores[self.n_seen : self.n_seen + len(scores)] = np.where(self.live, scores, np.nan)
        self.n_seen += len(scores)
        self._sums += scores.sum(axis=0)
        before, self._opponents = self._opponents, self._leaders()
        new = np.flatnonzero(self._opponents != (-1 if before is None else before))
        seen = self._scores[: self.n_seen]
        difference = seen[:, new] - seen[:, self._opponents[new]]
        self._total[new], self._squares[new] = difference.sum(axis=0), (difference**2).sum(axis=0)

    def _leaders(self) -> NDArray[np.intp]:
        """Return the opponent of each cell: the permitted live cell with the largest sum, the first in a
        tie.
        """
        sums = np.where(self.live, self._sums, -np.inf)
        if self._may_oppose is None:
            return np.full(len(sums), sums.argmax())
        leaders: NDArray[np.intp] = np.where(self._may_oppose, sums, -np.inf).argmax(axis=1)
        return leaders

    def shortfall(self, cell: int) -> float:
        """Return a lower bound of how far a cell is behind its best opponent of the full run, at confidence 1 - alpha.

        It is at least 0, accurate to 0.0001. For any smaller deficit, the wealth against it has reached 1 / alpha, or
        perfect scores could not make up for it. The bound holds at all looks together.
        """
        seen = self._scores[: self.n_seen]
        leader = cell if self._opponents is None else self._opponents[cell]
        lead = float(seen[:, leader].sum() - seen[:, cell].sum())
        best = max(0.0, (lead - (self._n_samples - self.n_seen)) / self._n_samples)
        worst = 1.0
        while worst - best > 1e-4:
            middle = (best + worst) / 2
            best, worst = (middle, worst) if self._refutes(cell, -middle) else (best, middle)
        return best

    def _refutes(self, cell: int, margin: float) -> bool:
        """Return True if the wealth against a lead of `margin` over all others has reached 1 / alpha."""
        wealth = 0.0
        for bets in self._bets:
            cell_bets = Bets(bets.n_before, *(part[:, [cell]] for part in (bets.difference, bets.total, bets.squares)))
            path = wealth + log_wealth(cell_bets, self._n_samples, margin)[:, 0]
            if np.nanmax(path, initial=-np.inf) >= -np.log(self._rules.alpha):
                return True
            wealth = float(path[-1])
        return False

    def _update_wealth(self, scores: Floats, opponents: NDArray[np.intp]) -> None:
        """Update the wealth of all cells by the differences from their opponents, sample by sample."""
        difference = scores - scores[:, opponents]
        bets = Bets.after_sums(self.n_seen, self._total, self._squares, difference)
        self._total = self._total + difference.sum(axis=0)
        self._squares = self._squares + (difference**2).sum(axis=0)
        is_other = self.live & (opponents != np.arange(len(opponents)))
        self._has_led[opponents[is_other]] = True
        self._bets.append(bets)
        for index, margin in enumerate(self._margins):
            path = self._last[index] + log_wealth(bets, self._n_samples, margin)
            self._last[index] = path[-1]
            self._peak[index] = np.fmax(self._peak[index], path.max(axis=0))

    def _select_decisive(self, by_margin: Floats) -> Floats:
        """Return for each cell the value of the margin that decides about it, from float64[n_margins, n_cells or 1]."""
        deciding: Floats = np.where(self._has_led, by_margin[0], by_margin[-1])
        return deciding

    def _levels(self) -> Floats:
        """Return the error rate at which each cell may stop now."""
        alpha, n_cells = self._rules.alpha, len(self.live)
        if len(self._margins) == 1:
            return np.full(n_cells, alpha / self._n_winners)
        return np.where(self._has_led, alpha / (2 * n_cells), alpha / (2 * self._n_winners))


class Races:
    """Races of the same cells for several targets, each over different samples. A cell stops once it can win no target.

    `members`, bool[n_samples, n_targets], says which samples belong to a target. The promise of a race holds for each
    target. Targets share the samples, and the order of the samples within a target is random too. Other parameters are
    explained at `Race`.
    """

    def __init__(
        self,
        n_cells: int,
        members: NDArray[np.bool_],
        rules: RaceRules = RaceRules(),
        stoppable: Sequence[bool] | None = None,
        costs: Sequence[float] | Floats | None = None,
    ) -> None:
        self._members = members
        self._races = [Race(n_cells, n, rules, stoppable, costs) for n in members.sum(axis=0).tolist()]
        self._stops: dict[int, Stop] = {}
        self.n_seen = 0

    @property
    def live(self) -> NDArray[np.bool_]:
        """bool[n_cells], False for the cells that were stopped or left."""
        live: NDArray[np.bool_] = np.any([race.live for race in self._races], axis=0)
        return live

    def look(self, scores: Floats) -> list[Stop]:
        """Add the scores of the next samples and decide, as `Race.look`. A stop describes the first target."""
        before, members = self.live, self._members[self.n_seen : self.n_seen + len(scores)]
        self.n_seen += len(scores)
        for number, (race, is_member) in enumerate(zip(self._races, members.T, strict=True)):
            stops = race.look(scores[is_member]) if is_member.any() else []
            self._stops |= {stop.cell: stop for stop in stops if not number}
        stopped = np.flatnonzero(before & ~self.live).tolist()
        return [replace(self._stops[cell], n_seen=self.n_seen) for cell in stopped]

    def leave(self, cell: int) -> None:
        """Remove a failed cell, which has no further scores, from all races."""
        for race in self._races:
            race.leave(cell)

    def shortfall(self, cell: int) -> float:
        """Return the bound of `Race.shortfall` for the first target."""
        return self._races[0].shortfall(cell)


@dataclass(frozen=True)
class Replay:
    """A finished race: the cells that it did not stop, bool[n_cells], and the share of all answers that it needed."""

    live: NDArray[np.bool_]
    share: float


def replay(
    scores: Floats,
    rules: RaceRules = RaceRules(),
    members: NDArray[np.bool_] | None = None,
    costs: Sequence[float] | Floats | None = None,
) -> Replay:
    """Return the race over stored scores in their order: float64[n_samples, n_cells] in [0, 1], larger ones better.

    See `Races` for `members`, which are all samples by default, and for `costs`.
    """
    n_samples, n_cells = scores.shape
    members = np.ones((n_samples, 1), dtype=np.bool_) if members is None else members
    race, n_asked = Races(n_cells, members, rules, costs=costs), 0
    for n_seen in (*rules.looks(n_samples), n_samples):
        n_asked += int(race.live.sum()) * (n_seen - race.n_seen)
        if n_seen < n_samples:
            race.look(scores[race.n_seen : n_seen])
    return Replay(race.live, n_asked / scores.size)


def forecast(
    scores: Floats,
    rules: RaceRules = RaceRules(),
    members: NDArray[np.bool_] | None = None,
    costs: Sequence[float] | Floats | None = None,
) -> float:
    """Return the share of all answers that a race over such scores requests: the mean over replays in random orders."""
    random = np.random.default_rng(0)
    n_orders = int(np.clip(_MAX_SAMPLES // max(1, len(scores)), *_ORDERS))
    orders = [random.permutation(len(scores)) for _ in range(n_orders)]
    races = [replay(scores[order], rules, None if members is None else members[order], costs) for order in orders]
    return float(np.mean([race.share for race in races]))


def share_before_stop(standard_errors: float, alpha: float = 0.05) -> float:
    """Return the share of the samples that a cell answers before it stops if it ends this many standard errors behind.

    An approximation of the growth of the wealth, within 0.1 of replays of stored sweeps: a / (1 + a) with
    a = 2 (ln(1 / alpha) + 2) / standard_errors^2.
    """
    if standard_errors <= 0:
        return 1.0
    a = 2 * (np.log(1 / alpha) + 2) / standard_errors**2
    return float(a / (1 + a))
