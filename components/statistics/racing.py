"""A race of cells over the samples of a sweep: cells that can no longer win stop early, with a known error rate.

All cells answer the same samples, in one random order. At a look, a cell is stopped if the samples seen so far refute
that it wins the full run. The only randomness is the order, so the scores may be skewed, dependent or clustered, and no
correction for the number of cells is needed.

For cell i, H(i) says that in the full run its sum is at least that of every other cell. Its opponent j led a few
samples ago. S is the sum of the differences D = x(i) - x(j) over the first t - 1 of N samples. Then H(i) implies that
the differences of the other samples average at least

    m = -S / (N - t + 1),

and the wealth of a gambler who bets on the opposite, the product of 1 - b (D - m) with 0 <= b <= .9 / (1 - m), is a
non-negative supermartingale: under H(i) it ever reaches 1 / alpha with probability alpha at most (Ville). H(i) speaks
of all opponents, so the opponent may change. If m exceeds 1, cell i cannot catch up even with perfect scores.

Sources: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting", section 5 (sampling
without replacement) and equation 26 (bets); the same 2020, "Confidence sequences for sampling without replacement".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MOST = 0.9
"""The largest share of the wealth that a bet may lose."""

_VARIANCE = 0.06
"""Variance of a difference before any was seen. It counts as one sample."""

_EVERY = 5
"""Samples after which the leader is determined again."""

_TOLERANCE = 1e-9

_MOST_ORDERS, _MOST_STEPS = 20, 8e8
"""Orders of a forecast, and their samples x samples x cells: some seconds."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RaceRules:
    """The error rate of a race, what it may lose, and its looks.

    With probability 1 - `alpha`, the winner of the full run is not stopped. Of several winners with equal sums, each is
    stopped with probability `alpha` at most, so at least one finishes with probability 1 - `alpha`. With a `margin`,
    the best cell that is not stopped is at most `margin` worse than the winner. The first look is after `first_look`
    samples.
    """

    alpha: float = 0.05
    margin: float = 0.0
    first_look: int = 20

    def looks(self, n_samples: int) -> list[int]:
        """Return the numbers of samples after which the race looks. None is as large as `n_samples`."""
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
    """The differences of some samples from the opponent, and what was known before each of them.

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
        return cls(
            np.arange(len(earlier), len(earlier) + len(difference), dtype=np.float64)[:, np.newaxis],
            difference,
            earlier.sum(axis=0) + difference.cumsum(axis=0) - difference,
            (earlier**2).sum(axis=0) + (difference**2).cumsum(axis=0) - difference**2,
        )


def log_wealth(bets: Bets, n_samples: int, margin: float | Floats = 0.0) -> Floats:
    """Return the logarithm of the wealth after each sample, as float64[n_samples, n_cells], from a wealth of 1.

    The wealth grows with evidence against: in the full run, the cell is better than every other one by at least
    `margin` (per sample; it may be negative).
    """
    needed = (n_samples * margin - bets.total) / (n_samples - bets.n_before)
    mean = bets.total / (bets.n_before + 1)
    variance = (bets.squares + _VARIANCE) / (bets.n_before + 1) - mean**2
    gap = needed - mean
    can_lose = np.where(needed < 1, 1 - needed, np.inf)
    bet = np.clip(gap / (variance + gap**2), 0, _MOST / can_lose)
    grown: Floats = np.log1p(-bet * (bets.difference - needed)).cumsum(axis=0)
    return grown


class Race:
    """A race of `n_cells` over `n_samples`. Cells that are not `stoppable`, bool[n_cells], are opponents only.

    Its decisions depend on nothing but the scores. Without a margin, a cell stops when its wealth reaches 1 / alpha.
    With a margin, a cell that was an opponent stops only if it is worse than another one, at alpha / (2 n_cells); the
    others stop if none of them is better than all by the margin, at alpha / 2. A cell that stopped within the margin of
    another one therefore never was an opponent, and losses do not add up.
    """

    def __init__(
        self, n_cells: int, n_samples: int, rules: RaceRules = RaceRules(), stoppable: Sequence[bool] | None = None
    ) -> None:
        self._rules = rules
        self._n_samples = n_samples
        self._scores = np.full((n_samples, n_cells), np.nan)
        self._stoppable = np.ones(n_cells, dtype=np.bool_) if stoppable is None else np.array(stoppable, dtype=np.bool_)
        self._has_led = np.zeros(n_cells, dtype=np.bool_)
        self._margins = (0.0, rules.margin) if rules.margin else (0.0,)
        self._last = np.zeros((len(self._margins), n_cells))
        self._peak = np.zeros((len(self._margins), n_cells))
        self._bets: list[Bets] = []
        self.live = np.ones(n_cells, dtype=np.bool_)
        """bool[n_cells], False for the cells that were stopped or left."""
        self.n_seen = 0
        self.leader: int | None = None
        """The live cell with the largest sum, the first of equal ones. None before the first samples."""

    def look(self, scores: Floats) -> list[Stop]:
        """Add the scores of the next samples, float64[n, n_cells] in [0, 1] with larger ones better, and decide.

        The scores of stopped cells are ignored. Returns the cells that stop now, in order.
        """
        for first in range(0, len(scores), _EVERY):
            self._add(scores[first : first + _EVERY])
        sums, leader = self._sums(), self.leader
        assert leader is not None, "a look has samples"
        wealth = np.exp(np.minimum(self._deciding(self._peak), 700.0))
        margin = self._deciding(np.array(self._margins)[:, np.newaxis])
        lost = self._n_samples * margin - (sums - sums[leader]) > self._n_samples - self.n_seen + _TOLERANCE
        wealth = np.where(lost, np.inf, wealth)
        is_stopped = self.live & self._stoppable & (wealth >= 1 / self._levels())
        is_stopped[leader] = False
        self.live &= ~is_stopped
        stopped = np.flatnonzero(is_stopped).tolist()
        return [Stop(cell, self.n_seen, leader, float(wealth[cell])) for cell in stopped]

    def leave(self, cell: int) -> None:
        """Take a cell out of the race that has no further scores, because it failed."""
        self.live[cell] = False
        if self.leader == cell:
            self.leader = None

    def _add(self, scores: Floats) -> None:
        """Bet on some samples, add them, and determine the leader."""
        if self.leader is not None:
            self._bet(scores, self.leader)
            self._has_led[self.leader] = True
        self._scores[self.n_seen : self.n_seen + len(scores)] = np.where(self.live, scores, np.nan)
        self.n_seen += len(scores)
        self.leader = int(self._sums().argmax())

    def _sums(self) -> Floats:
        """Return the sums of the scores of live cells; minus infinity for the others."""
        return np.where(self.live, self._scores[: self.n_seen].sum(axis=0), -np.inf)

    def shortfall(self, cell: int) -> float:
        """Return a lower bound of how far a cell is behind the winner of the full run, at confidence 1 - alpha.

        It is 0 or more, and exact to .0001. The wealth against any smaller lead of the winner has reached 1 / alpha, or
        perfect scores could not make up for it. The bound holds at all looks together.
        """
        seen = self._scores[: self.n_seen]
        lead = 0.0 if self.leader is None else float(seen[:, self.leader].sum() - seen[:, cell].sum())
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
            own = Bets(bets.n_before, *(part[:, [cell]] for part in (bets.difference, bets.total, bets.squares)))
            path = wealth + log_wealth(own, self._n_samples, margin)[:, 0]
            if np.nanmax(path, initial=-np.inf) >= -np.log(self._rules.alpha):
                return True
            wealth = float(path[-1])
        return False

    def _bet(self, scores: Floats, leader: int) -> None:
        """Update the wealth of all cells by the differences from the leader, sample by sample."""
        seen = self._scores[: self.n_seen]
        bets = Bets.after(seen - seen[:, [leader]], scores - scores[:, [leader]])
        self._bets.append(bets)
        for place, margin in enumerate(self._margins):
            path = self._last[place] + log_wealth(bets, self._n_samples, margin)
            self._last[place] = path[-1]
            self._peak[place] = np.fmax(self._peak[place], path.max(axis=0))

    def _deciding(self, by_margin: Floats) -> Floats:
        """Return for each cell the value of the margin that decides about it, from float64[n_margins, n_cells or 1]."""
        deciding: Floats = np.where(self._has_led, by_margin[0], by_margin[-1])
        return deciding

    def _levels(self) -> Floats:
        """Return the error rate at which each cell may stop now."""
        alpha, n_cells = self._rules.alpha, len(self.live)
        if len(self._margins) == 1:
            return np.full(n_cells, alpha)
        return np.where(self._has_led, alpha / (2 * n_cells), alpha / 2)


@dataclass(frozen=True)
class Replayed:
    """A finished race: the cells that it did not stop, bool[n_cells], and the share of all answers that it asked."""

    live: NDArray[np.bool_]
    share: float


def replay(scores: Floats, rules: RaceRules = RaceRules()) -> Replayed:
    """Return the race over stored scores in their order: float64[n_samples, n_cells] in [0, 1], larger ones better."""
    n_samples, n_cells = scores.shape
    race, n_asked = Race(n_cells, n_samples, rules), 0
    for n_seen in (*rules.looks(n_samples), n_samples):
        n_asked += int(race.live.sum()) * (n_seen - race.n_seen)
        if n_seen < n_samples:
            race.look(scores[race.n_seen : n_seen])
    return Replayed(race.live, n_asked / scores.size)


def forecast(scores: Floats, rules: RaceRules = RaceRules()) -> float:
    """Return the share of all answers that races over such scores ask: the mean over replays in random orders.

    There are 20 orders, and fewer of many samples, where a replay takes long and the share varies little.
    """
    n_samples, n_cells = scores.shape
    n_orders = int(np.clip(_MOST_STEPS / (n_samples**2 * n_cells), 1, _MOST_ORDERS))
    random = np.random.default_rng(0)
    return float(np.mean([replay(random.permutation(scores), rules).share for _ in range(n_orders)]))


def share_asked(standard_errors: float, alpha: float = 0.05) -> float:
    """Return the share of the samples that a cell answers before it stops if it ends this many standard errors behind.

    An approximation of the growth of the wealth, which replays of stored sweeps agree with to .1: a / (1 + a) with
    a = 2 (ln(1 / alpha) + 2) / standard_errors^2.
    """
    if standard_errors <= 0:
        return 1.0
    a = 2 * (np.log(1 / alpha) + 2) / standard_errors**2
    return float(a / (1 + a))
