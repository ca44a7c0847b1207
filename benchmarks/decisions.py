"""Error rates of the table of recommendations over hundreds of simulated sweeps: the long form of a test.

It measures how often a level is named although none is better, and how often a planted effect is found. Samples come in
groups of unequal size, because a few documents have many questions. Cells share the difficulty of a sample, and cells
of one level share its effect on a sample. Differences between levels therefore vary from sample to sample, as in real
sweeps. Scenarios are all samples, subsets, tasks and topics, some with too few samples to say anything.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from analysis.decision.recommendations import SHOWN, Recommendations, recommend_levels
from analysis.decision.scenario_scores import Scenario, ScoredCells
from benchmarks.measure import Bound, Measure
from benchmarks.settings import Settings
from runner.results import OK, CellResult, SampleKey
from runner.results.joined_samples import CommonSamples
from runner.results.loaded_sweep import SubsetMetric

ALPHA = 0.05
METRIC = SubsetMetric("overall", "simulated", larger_is_better=True)
PLANTED_AXIS, PLANTED_LEVEL = "chunk.size", "256"
_GRID: Mapping[str, Sequence[str]] = {
    "chunk.size": ("64", "256", "512"),
    "retriever": ("bm25", "dense", "hybrid"),
    "top_k": ("2", "8"),
}
_N_SWEEPS, _N_PLANTED = 400, 100
_MIN_DRAWS = 1_999

Values = NDArray[np.float64]
Score = Callable[[Values, Values], Values]
"""Function from latent values and additions, both float64[n, n_cells], to scores of the same shape. Latent values are
standard normal. An addition is the increase of the expected score.
"""


def like_rouge(latent: Values, added: Values) -> Values:
    """Return skewed scores around .25."""
    scores: Values = 0.2 * np.exp(0.6 * latent) + added
    return scores


def right_or_wrong(latent: Values, added: Values) -> Values:
    """Return scores that are right in 70 % of cases. Additions turn wrong answers into right ones."""
    share = 0.5 * (1 + _erf(latent / 2**0.5))
    return (share <= 0.7 + added).astype(np.float64)


def mostly_right(latent: Values, added: Values) -> Values:
    """Return scores that are right in 93 % of cases."""
    share = 0.5 * (1 + _erf(latent / 2**0.5))
    return (share <= 0.93 + added).astype(np.float64)


def _erf(values: Values) -> Values:
    from scipy.special import erf

    found: Values = erf(values)
    return found


@dataclass(frozen=True)
class Setting:
    """Sweeps of `n` samples, with scores of one kind, whose mean can rise by `room`.

    With `one_at_a_time`, each cell changes one axis of the first cell.
    """

    name: str
    score: Score
    room: float
    n: int = 300
    one_at_a_time: bool = False


SETTINGS = (
    Setting("ROUGE-like", like_rouge, room=0.75),
    Setting("right or wrong", right_or_wrong, room=0.3),
    Setting("mostly right", mostly_right, room=0.07),
    Setting("ROUGE-like, one change at a time", like_rouge, room=0.75, one_at_a_time=True),
    Setting("right or wrong, 80 samples", right_or_wrong, room=0.3, n=80),
)


@dataclass(frozen=True)
class Samples:
    """Groups of samples, int64[n], and membership of samples by scenario, bool[n]."""

    clusters: NDArray[np.int64]
    scenarios: Mapping[str, NDArray[np.bool_]]


def draw_samples(n: int, random: Generator) -> Samples:
    """Draw samples. Topics belong to documents, tasks to questions; the smallest topics have a handful of samples."""
    sizes = np.clip(np.ceil(random.pareto(1.2, size=n)), 1, 15).astype(np.int64)
    clusters = np.repeat(np.arange(n), sizes)[:n]
    subset = random.choice(3, p=[0.6, 0.3, 0.1], size=n)
    task = random.choice(4, size=n)
    topic = random.choice(6, p=[0.4, 0.25, 0.15, 0.12, 0.05, 0.03], size=n)[clusters]
    groups = {"subset": subset, "task": task, "topic": topic}
    named = {f"{name}/{value}": own == value for name, own in groups.items() for value in range(own.max() + 1)}
    return Samples(clusters, {"overall": np.ones(n, dtype=np.bool_), **named})


def list_cells(setting: Setting) -> list[dict[str, str]]:
    """Return the levels of every cell."""
    grid = [dict(zip(_GRID, levels, strict=True)) for levels in product(*_GRID.values())]
    if not setting.one_at_a_time:
        return grid
    return [cell for cell in grid if sum(cell[axis] != grid[0][axis] for axis in _GRID) <= 1]


def draw_latent(cells: Sequence[Mapping[str, str]], clusters: NDArray[np.int64], random: Generator) -> Values:
    """Draw standard normal values, float64[n, n_cells].

    Half of their variance belongs to the sample, the rest to its levels and to the cell. Half of each part is common to
    a group.
    """

    def part() -> Values:
        group_parts = random.normal(size=int(clusters.max()) + 1)[clusters]
        found: Values = (group_parts + random.normal(size=len(clusters))) / 2**0.5
        return found

    level_parts = {(axis, level): part() for axis, levels in _GRID.items() for level in levels}
    hard = part()
    columns = [
        0.5**0.5 * hard + (0.3 / 3) ** 0.5 * sum(level_parts[item] for item in cell.items()) + 0.2**0.5 * part()
        for cell in cells
    ]
    return np.column_stack(columns)


def simulate(
    setting: Setting,
    random: Generator,
    planted: float = 0.0,
    within: str = "overall",
    samples: Samples | None = None,
) -> Recommendations:
    """Return the recommendations of one sweep in which one level of one axis is better by `planted` in a scenario.

    Half of the difference is added to this level, as far as there is room, and the rest is taken from the other levels.
    Shares therefore stay between 0 and 1.
    """
    samples = samples or draw_samples(setting.n, random)
    cells = list_cells(setting)
    has_level = np.array([cell[PLANTED_AXIS] == PLANTED_LEVEL for cell in cells])
    gain = min(planted / 2, setting.room)
    added = np.outer(samples.scenarios[within], np.where(has_level, gain, gain - planted))
    scores = setting.score(draw_latent(cells, samples.clusters, random), added)
    return recommend_levels(list(score_scenarios(scores, cells, samples)), METRIC, ALPHA, fewest_draws=_MIN_DRAWS)


def score_scenarios(scores: Values, cells: Sequence[Mapping[str, str]], samples: Samples) -> Iterator[ScoredCells]:
    """Yield scores, float64[n, n_cells], by scenario in the form that recommendations read; all samples come first."""
    results = tuple(CellResult(f"{place:012x}", OK, levels, (), {}, {}) for place, levels in enumerate(cells))
    for subset, is_in in samples.scenarios.items():
        if is_in.any():
            n = int(is_in.sum())
            own = CommonSamples(
                cells=results,
                keys=tuple(SampleKey("", str(place), "", "") for place in np.flatnonzero(is_in).tolist()),
                statistics=scores[is_in][:, :, np.newaxis],
                clusters=samples.clusters[is_in],
                strata=np.zeros(n, dtype=np.int64),
                combine=None,
                n_known=n,
                left_out=(Counter(),) * len(results),
                value_digests=tuple(scores[is_in, place].tobytes() for place in range(len(results))),
                apart=(),
            )
            yield ScoredCells(
                Scenario(subset, subset, subset.split("/")[0]), own, larger_is_better=True, weighs_tokens=True
            )


def names_any(found: Recommendations) -> bool:
    """Return True if any entry rules out any level."""
    return any(entry.verdict == SHOWN for entry in found.entries)


def finds_planted(found: Recommendations, within: str) -> bool:
    """Return True if the planted level is recommended and another one is ruled out."""
    entry = found.find(within, PLANTED_AXIS)
    return entry is not None and entry.verdict == SHOWN and PLANTED_LEVEL in entry.best


def find_stated_sizes(
    setting: Setting, within: str, random: Generator, n_sweeps: int = _N_PLANTED
) -> list[tuple[Samples, float]]:
    """Return the detectable sizes and samples of those sweeps without effects that state a size."""
    sizes = []
    for _ in range(n_sweeps):
        samples = draw_samples(setting.n, random)
        entry = simulate(setting, random, samples=samples).find(within, PLANTED_AXIS)
        if entry is not None and entry.detectable is not None:
            sizes.append((samples, entry.detectable))
    return sizes


def measure(settings: Settings) -> list[Measure]:
    """Return for each setting the number of sweeps that name a level without effects, and that find an effect of stated
    size.
    """
    return [own for setting in SETTINGS for own in (_measure_named(setting), *_measure_found(setting))]


def _measure_named(setting: Setting) -> Measure:
    random = np.random.default_rng((1, setting.n))
    share = float(np.mean([names_any(simulate(setting, random)) for _ in range(_N_SWEEPS)]))
    detail = f"of {_N_SWEEPS} sweeps without effects"
    return Measure(f"{setting.name}: any level is named", share, "", detail, Bound(ALPHA))


def _measure_found(setting: Setting) -> Iterator[Measure]:
    """Measure an effect of the mean stated size, and in each sweep an effect of the size stated for it.

    The latter is found less often, because a sweep whose cells happen to disagree little states too small a size.
    """
    for within in ("overall", "task/1"):
        random = np.random.default_rng((2, setting.n))
        sizes = find_stated_sizes(setting, within, random)
        mean = float(np.mean([size for _, size in sizes]))
        detail = f"of the {len(sizes)} of {_N_PLANTED} sweeps that state a size, an effect of"
        in_all = [finds_planted(simulate(setting, random, mean, within, samples), within) for samples, _ in sizes]
        bound = Bound(0.75, at_least=True)
        yield Measure(f"{setting.name}: found in {within}", float(np.mean(in_all)), "", f"{detail} {mean:.3f}", bound)
        own = [finds_planted(simulate(setting, random, size, within, samples), within) for samples, size in sizes]
        yield Measure(f"{setting.name}: its own in {within}", float(np.mean(own)), "", f"{detail} its own size")
