"""Ranks and tests the cells of a sweep, for leaderboards and MLflow's pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from components.subsets import OVERALL
from runner.results import OK, CellResult, larger_is_better, read_cell
from runner.results.cell_axes import find_shown_axes
from runner.results.cell_choice import COMPARE_ALIKE, Choice, find_choice, is_bound, without_bounds
from runner.results.choice_wording import race_winner_text
from runner.results.indistinguishable_cells import paired_test
from runner.results.joined_samples import OWN_MEANS, CommonMeans, put_most_samples_first
from runner.results.leaderboard_order import (
    NO_QUALITY,
    compute_common_means,
    direction_sign,
    lacks_quality,
    put_leaders_first,
    rank_cells,
)

MAX_TESTED_CELLS = 60
"""Maximum number of cells that are tested. All pairs are compared, and a sweep should not wait longer for that.

`python -m analysis compare` has no limit.
"""


@dataclass(frozen=True)
class RankedCells:
    """Cells in the order of leaderboards, and the headline metrics, or [] if no cell has a value that ranks it.

    `lacks_quality` is True if the only metrics with a value are token counts, which rank no cell.

    `choice` is the cell to take, with the cells that may be as good; None if the cells were not tested. It comes first,
    then the cells with equal values. The others follow in the order of their means, best first.
    """

    ordered: Sequence[CellResult]
    metrics: Sequence[str]
    common: CommonMeans = OWN_MEANS
    choice: Choice | None = None
    lacks_quality: bool = False

    @property
    def best(self) -> CellResult | None:
        """The cell to take, or the first cell if the cells were not tested.

        None if no cell is ranked, or if neither larger nor smaller values are better.
        """
        if self.choice:
            return self.choice.cell
        is_ranked = self.metrics and direction_sign(self.metrics[0], self.ordered)
        return without_bounds(self.ordered)[0] if is_ranked else None

    @property
    def leaders(self) -> list[CellResult]:
        """The cell to take and the cells with the same values. [] if the cells were not tested."""
        return [self.choice.cell, *self.choice.equal] if self.choice else []

    @property
    def tied(self) -> list[CellResult]:
        """The other cells that may be the best, the best mean first."""
        groups = self.choice.tied if self.choice else ()
        return [cell for group in groups for cell in group if cell is not self.best]


def find_standings(cells: Iterable[CellResult], sweep_dir: Path, headline: str) -> RankedCells:
    """Rank and test the finished cells of a sweep. Raises DataError if samples cannot be read.

    `headline` is the metric that ranks the cells, "" for the default.
    """
    cells = list(cells)
    common = compute_common_means(cells, sweep_dir, headline)
    metrics, ordered = rank_cells(cells, headline, common)
    if not ordered or not metrics or ordered[0].status != OK:
        return RankedCells(ordered, [])
    if lacks_quality(metrics, headline):
        return RankedCells(ordered, [], lacks_quality=True)
    standings = RankedCells(ordered, metrics, common, _choice(cells, sweep_dir, metrics[0]))
    return replace(standings, ordered=put_leaders_first(ordered, standings.leaders))


def _choice(cells: Sequence[CellResult], sweep_dir: Path, metric: str) -> Choice | None:
    larger = larger_is_better(metric, cells)
    valued = without_bounds([cell for cell in cells if cell.status == OK and cell.value(metric) is not None])
    if larger is None or not 2 <= len(valued) <= MAX_TESTED_CELLS:
        return None
    # Read again, because memory may hold only what a leaderboard shows.
    first = put_most_samples_first(valued, metric, OVERALL)[0]
    whole = [read_cell(sweep_dir / first.cell_id) if cell is first else cell for cell in valued]
    test = paired_test(len(cells))
    choice = find_choice(
        whole, lambda cell: sweep_dir / cell.cell_id, metric, OVERALL, larger_is_better=larger, test=test
    )
    return choice if len(choice.compared) > 1 else None


def untested_advice() -> str:
    """Return the advice for sweeps whose cells are not tested here, because that would take minutes."""
    return (
        f"Sweeps of more than {MAX_TESTED_CELLS} cells are not tested here. The report and the name `best` test them, "
        "and may take a cheaper cell."
    )


def first_row_line(standings: RankedCells, stopped: Sequence[CellResult] = ()) -> str:
    """Return a line about the first row of the leaderboard and upper bounds; "" if there is nothing to choose.

    `stopped` are the cells that a race or the user stopped, which have no row.
    """
    line = _choice_line(standings, stopped)
    has_bounds = standings.choice and any(map(is_bound, standings.ordered))
    return f"{line.rstrip('.')}. retriever=oracle is an upper bound, and is not compared." if has_bounds else line


def _choice_line(standings: RankedCells, stopped: Sequence[CellResult]) -> str:
    if len(standings.ordered) == 1 and standings.best and (won := race_winner_text(stopped)):
        return f"The cell to take. {won}"
    if standings.lacks_quality and len(standings.ordered) > 1:
        return f"No cell to take: {NO_QUALITY}"
    if not standings.metrics or len(standings.ordered) < 2 or standings.best is None:
        return ""
    metric, choice = standings.metrics[0], standings.choice
    if choice is None:
        n_tested = len([cell for cell in standings.ordered if cell.status == OK and cell.value(metric) is not None])
        return f"First row: the best {metric}. {untested_advice()}" if n_tested > MAX_TESTED_CELLS else ""
    if choice.spans_conditions:
        return f"First row: the best {metric}. {COMPARE_ALIKE}"
    take = f"the cell to take{_single_name(choice)}"
    if choice.n_tied == 1:
        return f"First row: {take}; all others have a significantly worse {metric}."
    if choice.too_few:
        return f"First row: {take}, by its mean alone: {choice.too_few}. See docs/metrics.md, Groups of samples"
    may_be = f"{choice.n_tied} of {len(choice.compared)} cells may have the best {metric}"
    if choice.cell is choice.best:
        return f"First row: {take}. {may_be} (see docs/decisions.md)."
    cheapest = f"the cheapest of the {choice.n_near} within one standard error of the best {metric}"
    return f"First row: {take}, {cheapest} ({_format_values(choice.best, choice)}). {may_be} (see docs/decisions.md)."


def _single_name(choice: Choice) -> str:
    """Name the cell to take if the first row stands for several cells; "" otherwise."""
    return f" ({_format_values(choice.cell, choice)})" if len(choice.equal) > 1 else ""


def _format_values(cell: CellResult, choice: Choice) -> str:
    """Return the values that tell a cell from the others, such as "retriever=bm25,top_k=2", as commands take them."""
    axes = find_shown_axes(choice.compared)
    return ",".join(f"{axis}={cell.axes[axis]}" for axis in axes if cell.axes.get(axis) is not None)
