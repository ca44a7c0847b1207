"""Which cells of a sweep come first, and which of them may be the best one: what MLflow's pages say of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.statistics import PairedTest, SampleScores, best_cells, equal_cells
from components.subsets import OVERALL
from runner.common_samples import OWN_MEANS, CommonMeans, common_samples, most_samples_first
from runner.ranking import common_to_all, direction_sign, ranked
from runner.results import OK, CellResult, larger_is_better, read_cell

ALPHA = 0.05
"""The probability that the truly best cell is not among those that may be."""

MOST_TESTED = 60
"""Cells. All pairs are tested, and a sweep does not wait for more of them: `python -m analysis compare` tests any."""


@dataclass(frozen=True)
class Standings:
    """Cells, the best first, and the headline metrics, [] if no cell has a result that ranks it.

    `may_be_best` says of each cell that was tested whether it may be the best one, by id; empty where none was.
    """

    ordered: Sequence[CellResult]
    metrics: Sequence[str]
    common: CommonMeans = OWN_MEANS
    may_be_best: Mapping[str, bool] = field(default_factory=dict)

    @property
    def best(self) -> CellResult | None:
        """None if no cell is ranked, or neither larger nor smaller values are better."""
        return self.ordered[0] if self.metrics and direction_sign(self.metrics[0], self.ordered) else None

    @property
    def tied(self) -> list[CellResult]:
        """The others that may be the best."""
        return [cell for cell in self.ordered if self.may_be_best.get(cell.cell_id) and cell is not self.best]


def find_standings(cells: Iterable[CellResult], sweep_dir: Path, headline: str) -> Standings:
    """Of the cells of a sweep that ended; `headline` is the metric that ranks them, "" for the usual one. Raises
    DataError if samples cannot be read.
    """
    cells = list(cells)
    common = common_to_all(cells, sweep_dir, headline)
    metrics, ordered = ranked(cells, headline, common)
    if not ordered or not metrics or ordered[0].status != OK:
        return Standings(ordered, [])
    return Standings(ordered, metrics, common, _may_be_best(ordered, sweep_dir, metrics[0]))


def _may_be_best(cells: Sequence[CellResult], sweep_dir: Path, metric: str) -> dict[str, bool]:
    """By the test of `python -m analysis compare`, with its defaults."""
    larger = larger_is_better(metric, cells)
    valued = [cell for cell in cells if cell.status == OK and cell.value(metric) is not None]
    if larger is None or not 2 <= len(valued) <= MOST_TESTED:
        return {}
    first, *others = most_samples_first(valued, metric, OVERALL)
    # As it was written: of the others only what a leaderboard shows may have been kept.
    whole = [read_cell(sweep_dir / first.cell_id), *others]
    joined = common_samples(whole, lambda cell: sweep_dir / cell.cell_id, metric, OVERALL)
    if not joined.n or len(joined.cells) < 2:
        return {}
    # Cells with equal values for all samples are one for the test.
    places = equal_cells(joined.statistics)
    test = PairedTest()
    found = best_cells(
        SampleScores(joined.statistics[:, list(places)], joined.clusters, joined.strata, joined.combine),
        larger_is_better=larger,
        alpha=ALPHA,
        n_resamples=test.n_resamples,
        seed=test.seed,
    )
    return {
        joined.cells[place].cell_id: p > ALPHA
        for p, same in zip(found.p.tolist(), places.values(), strict=True)
        for place in same
    }
