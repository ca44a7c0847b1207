"""Ranks and tests the cells of a sweep, for MLflow's pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.subsets import OVERALL
from runner.results import OK, CellResult, larger_is_better, read_cell
from runner.results.cell_choice import Choice, find_choice
from runner.results.joined_samples import OWN_MEANS, CommonMeans, most_samples_first
from runner.results.leaderboard_order import common_to_all, direction_sign, ranked
from runner.results.undecided_cells import paired_test

MOST_TESTED = 60
"""Cells. All pairs are tested, and a sweep should not wait for more. `python -m analysis compare` has no limit."""


@dataclass(frozen=True)
class Standings:
    """Cells, the best mean first, and the headline metrics, or [] if no cell has a value that ranks it.

    `choice` is the cell to take, with the cells that may be as good; None if the cells were not tested.
    """

    ordered: Sequence[CellResult]
    metrics: Sequence[str]
    common: CommonMeans = OWN_MEANS
    choice: Choice | None = None

    @property
    def best(self) -> CellResult | None:
        """The cell to take, or the first cell if the cells were not tested.

        None if no cell is ranked, or if neither larger nor smaller values are better.
        """
        if self.choice:
            return self.choice.cell
        return self.ordered[0] if self.metrics and direction_sign(self.metrics[0], self.ordered) else None

    @property
    def tied(self) -> list[CellResult]:
        """The other cells that may be the best, the best mean first."""
        groups = self.choice.tied if self.choice else ()
        return [cell for group in groups for cell in group if cell is not self.best]


def find_standings(cells: Iterable[CellResult], sweep_dir: Path, headline: str) -> Standings:
    """Rank and test the finished cells of a sweep. Raises DataError if samples cannot be read.

    `headline` is the metric that ranks the cells, "" for the default.
    """
    cells = list(cells)
    common = common_to_all(cells, sweep_dir, headline)
    metrics, ordered = ranked(cells, headline, common)
    if not ordered or not metrics or ordered[0].status != OK:
        return Standings(ordered, [])
    return Standings(ordered, metrics, common, _choice(cells, sweep_dir, metrics[0]))


def _choice(cells: Sequence[CellResult], sweep_dir: Path, metric: str) -> Choice | None:
    larger = larger_is_better(metric, cells)
    valued = [cell for cell in cells if cell.status == OK and cell.value(metric) is not None]
    if larger is None or not 2 <= len(valued) <= MOST_TESTED:
        return None
    # Read again, because memory may hold only what a leaderboard shows.
    first = most_samples_first(valued, metric, OVERALL)[0]
    whole = [read_cell(sweep_dir / first.cell_id) if cell is first else cell for cell in valued]
    test = paired_test(len(cells))
    choice = find_choice(
        whole, lambda cell: sweep_dir / cell.cell_id, metric, OVERALL, larger_is_better=larger, test=test
    )
    return choice if len(choice.compared) > 1 else None
