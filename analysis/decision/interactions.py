"""Interactions: pairs of axes where the effect of one depends on the level of the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from analysis.decision.design import AxisPairDesign, tetrads
from analysis.decision.scenario_scores import MIN_CLUSTERS, ScoredCells
from components.statistics import Contrasts, Tail, contrasts, tail_share
from runner.console.display import significant_digits

_N_DRAWS, _SEED = 4_999, 0
_AT_ONCE = 200
"""Number of tetrads whose draws are in memory together."""


@dataclass(frozen=True)
class Interaction:
    """The clearest example of an interaction of two axes.

    Level `better` of the first axis gains more over level `worse` with level `more_with` of the second axis than with
    `less_with`. `gain_more` and `gain_less` are the two gains, and `difference` is the difference between them,
    averaged over `n_combinations` of the other axes. A gain is an improvement, regardless of the metric's direction.

    Among `n_compared` such differences of all pairs of axes, it is the farthest from zero for its pair, in standard
    errors. `p` and the interval are corrected for all of them. With probability 1 - alpha, no interaction of a scenario
    is marked `is_shown` by chance. `unseen` is the axis of the two that changes no sample's value, as top_k changes no
    ranking; "" if both change some.
    """

    axes: tuple[str, str]
    better: str
    worse: str
    more_with: str
    less_with: str
    difference: float
    low: float | None
    high: float | None
    p: float
    is_shown: bool
    gain_more: float
    gain_less: float
    n_combinations: int
    n_compared: int
    unseen: str = ""

    def text(self) -> str:
        """Describe the interaction in a sentence."""
        first, second = self.axes
        instead = f"{first}={self.better} instead of {self.worse}"
        if not self.difference:
            same = f"{instead} gains the same with {second}={self.more_with} and with {self.less_with}"
            return f"{self.unseen} does not affect the metric: {same}" if self.unseen else same
        more, less = significant_digits(self.difference), significant_digits(-self.gain_less)
        if self.gain_less >= 0:
            return f"{instead} gains {more} more with {second}={self.more_with} than with {self.less_with}"
        return (
            f"{instead} gains {significant_digits(self.gain_more)} with {second}={self.more_with} "
            f"and loses {less} with {self.less_with}"
        )


@dataclass(frozen=True)
class _Example:
    """A tetrad with its value, its standard error, and its size in each unit of measurement."""

    tetrad: AxisPairDesign
    value: float
    error: float
    sizes: tuple[float, ...]


def find_interactions(scored: ScoredCells, alpha: float) -> tuple[Interaction, ...]:
    """Return the clearest interaction of each pair of axes with cells for it, smallest p-value first.

    The result is empty with too few groups of samples.
    """
    if scored.n_clusters < MIN_CLUSTERS:
        return ()
    examples: list[_Example] = []
    largest: list[NDArray[np.float64]] = []
    n_compared = df = 0
    for first, second in combinations(scored.axes, 2):
        best: _Example | None = None
        for block in _split_into_blocks(tetrads(first, second, scored.levels)):
            weights = np.column_stack([each.with_c - each.with_d for each in block])
            estimates = contrasts(scored.contributions, weights, _N_DRAWS, _SEED)
            maxima = [(measure.drawn * measure.unit).max(axis=1) for measure in estimates.measures]
            largest = [np.maximum(*pair) for pair in zip(largest, maxima, strict=True)] if largest else maxima
            n_compared, df = n_compared + len(block), estimates.df
            best = max(filter(None, (best, _find_clearest(block, estimates))), key=lambda each: min(each.sizes))
        if best:
            examples.append(best)
    if not examples or not df:
        return ()
    tail = Tail(tuple(map(np.sort, largest)), df)
    found_all = [
        replace(one, unseen=next((axis for axis in reversed(one.axes) if axis in scored.unseen_axes), ""))
        for one in (_interaction(scored, each, tail, alpha, n_compared) for each in examples)
    ]
    return tuple(sorted(found_all, key=lambda one: one.p))


def _split_into_blocks(all_tetrads: Sequence[AxisPairDesign]) -> Iterator[list[AxisPairDesign]]:
    waiting = iter(all_tetrads)
    while block := list(islice(waiting, _AT_ONCE)):
        yield block


def _find_clearest(block: Sequence[AxisPairDesign], estimates: Contrasts) -> _Example:
    sizes = np.min([measure.sizes * measure.unit for measure in estimates.measures], axis=0)
    index = int(np.argmax(sizes))
    example_sizes = tuple(float(measure.sizes[index] * measure.unit[index]) for measure in estimates.measures)
    return _Example(block[index], float(estimates.values[index]), float(estimates.errors[index]), example_sizes)


def _interaction(scored: ScoredCells, example: _Example, tail: Tail, alpha: float, n_compared: int) -> Interaction:
    """Orient the tetrad so that the difference and the larger of the two gains are positive."""
    tetrad, sign = example.tetrad, 1.0 if scored.larger_is_better else -1.0
    p = max(float(tail_share(draws, np.array(size))) for draws, size in zip(tail.largest, example.sizes, strict=True))
    half = example.error * tail.critical(alpha) if example.error else 0.0
    has_interval = scored.contributions.has_spread and np.isfinite(half)
    with_c, with_d = (sign * float(scored.contributions.values @ weights) for weights in (tetrad.with_c, tetrad.with_d))
    better, worse, more_with, less_with = tetrad.b, tetrad.a, tetrad.c, tetrad.d
    if with_c < with_d:
        more_with, less_with, with_c, with_d = less_with, more_with, with_d, with_c
    if with_c <= 0:  # both lose: swap the levels, and both gain
        better, worse, more_with, less_with, with_c, with_d = worse, better, less_with, more_with, -with_d, -with_c
    difference = with_c - with_d
    low, high = (difference - half, difference + half) if has_interval else (None, None)
    return Interaction(
        tetrad.axes,
        better,
        worse,
        more_with,
        less_with,
        difference,
        low,
        high,
        p,
        p <= alpha,
        with_c,
        with_d,
        tetrad.n_combinations,
        n_compared,
    )
