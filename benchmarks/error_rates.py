"""False verdicts of `compare` between equally good cells, over simulated sweeps: the long form of a test.

In every setting all cells are equally good, so each call of "worse" or "better" is false. The family-wise rate is the
share of sweeps with any false call. `compare` promises at most 5 % of them. Settings run in one process per core: about
an hour and a half of one core together.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from components.child_processes import SpawnWithoutMain
from components.statistics import PairedTest, SampleScores, best_cells, holm
from components.threads import allot_threads, n_cores

ALPHA = 0.05
BOUND = 0.06
_N_SWEEPS = {2: 4000, 10: 1500, 40: 400}
_N_RESAMPLES = 1999

Noise = Callable[[Generator, tuple[int, ...]], NDArray[np.float64]]


def normal(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the noise that textbooks assume."""
    return random.normal(size=shape)


def draw_skewed(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return noise with the same skewness in all cells, so that their differences are symmetric."""
    return random.exponential(size=shape) - 1


def oppositely_skewed(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return noise with opposite skewness in every second cell: differences are skewed, cells not interchangeable."""
    noise = draw_skewed(random, shape)
    noise[..., ::2] *= -1
    return noise


def exponential(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return noise for every second cell: differences from the others are as skewed as the noise itself."""
    noise = draw_skewed(random, shape)
    noise[..., ::2] = 0.0
    return noise


def two_point(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return +1 in a third of the cases and -.5 in the rest; every second cell has no noise."""
    noise = np.where(random.random(shape) < 1 / 3, 1.0, -0.5)
    noise[..., ::2] = 0.0
    return noise


def against_constant(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return +1 in a third of the cases and -.5 in the rest; the first cell has no noise, so that all others may hide
    their gains from it.
    """
    noise = np.where(random.random(shape) < 1 / 3, 1.0, -0.5)
    noise[..., 0] = 0.0
    return noise


def log_normal(random: Generator, shape: tuple[int, ...], *, sigma: float) -> NDArray[np.float64]:
    """Return noise in opposite directions that is too skewed for the test, and more so for a larger sigma."""
    values: NDArray[np.float64] = random.lognormal(sigma=sigma, size=shape) - np.exp(sigma**2 / 2)
    values[..., ::2] *= -1
    return values


def rarely_wrong(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return answers that are right in 98 % of cases."""
    return (random.random(shape) < 0.98).astype(np.float64)


def evenly_wrong(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return answers that are right in half of the cases."""
    return (random.random(shape) < 0.5).astype(np.float64)


def one_right(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return answers with one right cell each: with three or more cells, the joint differences are skewed."""
    right = random.integers(shape[-1], size=(*shape[:-1], 1))
    is_right: NDArray[np.float64] = (np.arange(shape[-1]) == right).astype(np.float64)
    return is_right


def rare_failures(random: Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return scores whose first cell is a little better on 98 of 100 samples, and far worse on two, which data may
    lack.
    """
    noise = random.normal(scale=0.02, size=shape)
    noise[..., 0] += np.where(random.random(shape[:-1]) < 0.02, -0.49, 0.01)
    return noise


@dataclass(frozen=True)
class Setting:
    """A setting with `n_clusters` clusters of one sample, or, with `is_unequal`, of 1 to 60 samples that share half of
    their variance.

    Cells differ only in the first `n_differing` clusters, or in all.
    """

    name: str
    noise: Noise
    n_clusters: int
    is_unequal: bool = False
    n_differing: int | None = None

    def __str__(self) -> str:
        """Return the name with the numbers of clusters."""
        differing = f", {self.n_differing} of them differing" if self.n_differing else ""
        return f"{self.name}, {self.n_clusters} clusters{differing}"


SETTINGS = (
    Setting("normal noise", normal, 20),
    Setting("skewed noise", draw_skewed, 20),
    Setting("oppositely skewed noise", oppositely_skewed, 20),
    Setting("oppositely skewed noise", oppositely_skewed, 100),
    Setting("unequal clusters", normal, 20, is_unequal=True),
    Setting("unequal clusters, oppositely skewed", oppositely_skewed, 20, is_unequal=True),
    Setting("+1 or -.5 against a constant cell", against_constant, 10),
    Setting("+1 or -.5 against a constant cell", against_constant, 20),
    Setting("binary, .98", rarely_wrong, 100),
    Setting("binary, .5", evenly_wrong, 25),
    Setting("binary, one cell right", one_right, 25),
    Setting("binary, one cell right", one_right, 100),
)

FEW_DIFFERING = tuple(
    setting
    for name, noise in (("exponential differences", exponential), ("two-point differences, +1 or -.5", two_point))
    for n in range(6, 16)
    for setting in (Setting(name, noise, n), Setting(name, noise, 60, n_differing=n))
)
"""Settings in which few groups with skewed differences decide. Measured for two cells."""

BEYOND = (
    Setting("log-normal noise, sigma 1", partial(log_normal, sigma=1.0), 20),
    Setting("log-normal noise, sigma 1.5", partial(log_normal, sigma=1.5), 20),
    Setting("log-normal noise, sigma 1.5", partial(log_normal, sigma=1.5), 100),
    Setting("rare, bad failures", rare_failures, 33),
    Setting("rare, bad failures", rare_failures, 60),
    Setting("rare, bad failures", rare_failures, 100),
)
"""Settings in which the promise does not hold. Measured for two cells, without a bound."""


def scores(setting: Setting, n_cells: int, random: Generator) -> SampleScores:
    """Return one sweep of equally good cells."""
    sizes = np.ones(setting.n_clusters, dtype=np.int64)
    if setting.is_unequal:
        sizes = np.clip(np.ceil(random.pareto(1.0, size=setting.n_clusters)), 1, 60).astype(np.int64)
    clusters = np.repeat(np.arange(setting.n_clusters), sizes)
    values = setting.noise(random, (len(clusters), n_cells))
    if setting.is_unequal:
        values = values + setting.noise(random, (setting.n_clusters, n_cells))[clusters]
    values[clusters >= (setting.n_differing or setting.n_clusters)] = 0.0
    return SampleScores(values[:, :, np.newaxis], clusters, np.zeros(len(clusters), dtype=np.int64))


def has_false_call(sweep: SampleScores, n_resamples: int) -> tuple[bool, bool]:
    """Return two flags: any cell is called worse than the best, and any is called different from the first one."""
    n_others = sweep.statistics.shape[1] - 1
    found = best_cells(sweep, larger_is_better=True, alpha=ALPHA, n_resamples=n_resamples, seed=0)
    # A p-value must be able to reach Holm's smallest level.
    test = PairedTest(n_resamples=max(n_resamples, 40 * n_others))
    against_first = holm([comparison.p or np.nan for comparison in test.compare(sweep, ALPHA / n_others)])
    return bool((found.p <= ALPHA).any()), bool((against_first <= ALPHA).any())


def measure(settings: Settings) -> list[Measure]:
    """Return family-wise error rates against the best cell and against a named one."""
    tasks = [(setting, n_cells, Bound(BOUND)) for n_cells in sorted(_N_SWEEPS, reverse=True) for setting in SETTINGS]
    tasks += [(setting, 2, Bound(BOUND)) for setting in FEW_DIFFERING]
    with ProcessPoolExecutor(n_cores(), SpawnWithoutMain()) as pool:
        runs = [pool.submit(_rates, *task) for task in tasks]
        runs += [pool.submit(_rates, setting, 2, None) for setting in BEYOND]
        return [rate for run in runs for rate in run.result()]


def _rates(setting: Setting, n_cells: int, bound: Bound | None) -> list[Measure]:
    allot_threads(1)
    random = np.random.default_rng((1, n_cells, setting.n_clusters, setting.n_differing or setting.n_clusters))
    n_sweeps = _N_SWEEPS[n_cells]
    calls = [has_false_call(scores(setting, n_cells, random), _N_RESAMPLES) for _ in range(n_sweeps)]
    best_rate, named_rate = np.mean(calls, axis=0)
    name = f"{setting}, {n_cells} cells"
    detail = f"any false call in {n_sweeps} sweeps"
    return [
        Measure(f"{name}: best", float(best_rate), "", detail, bound),
        Measure(f"{name}: named", float(named_rate), "", detail, bound),
    ]
