"""Chooses the recommended cell. The report, MLflow's note and the name `best` all refer to it.

It is the cheapest of the cells that may be the best and are within one standard error of the best mean. Few tokens
count first, then time beyond its noise. Among cells of about equal cost, the best mean wins.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from components.json_value import Json
from components.statistics import PairedTest
from runner.results.cell_result import CellResult
from runner.results.costs import (
    EQUALLY_CHEAP,
    TOKENS,
    Cost,
    answered_share,
    cheap_indices,
    cost_per_answer,
    known_costs,
)
from runner.results.indistinguishable_cells import find_indistinguishable_cells
from runner.results.leaderboard_order import COVERAGE
from runner.results.metric_components import depends_on_prompt
from runner.results.timing import latency_noise

CONDITION = "retriever.noise_rate"
"""Axis that sets the difficulty of a test. It is a condition under which cells are compared, not an option to
choose.
"""

_BOUNDS = frozenset({"oracle"})
"""Retrievers that take the gold: upper bounds, which no question of a user could reach."""

COMPARE_ALIKE = f"Compare cells at one {CONDITION}, which sets how hard the test is."
"""Advice that replaces a recommendation if cells were tested under different conditions."""


@dataclass(frozen=True)
class Choice:
    """The recommended cell among the `compared` ones.

    `tied` are the cells that may be the best, best mean first; cells with equal values for every sample form one group.
    `near` are those groups of `tied` that are within one standard error of the first. `cell` is in one of them, and its
    group is `equal`. `means` are over the samples that all compared cells have, by cell id. A metric that does not see
    prompts (`weighs_tokens` False) cannot distinguish the cells of a group. Of these, `cell` brings the most gold into
    the prompt. `too_few` is "" or says that no difference could be significant (`too_few_groups`).
    """

    cell: CellResult
    tied: tuple[tuple[CellResult, ...], ...]
    near: tuple[tuple[CellResult, ...], ...]
    compared: tuple[CellResult, ...]
    means: Mapping[str, float]
    weighs_tokens: bool
    too_few: str = ""

    @property
    def best(self) -> CellResult:
        """The cell with the best mean: the recommended cell if its mean is equally good, else the cell with the fewest
        tokens.
        """
        if self.cell in self.tied[0]:
            return self.cell
        cost = self.tokens
        return min(self.tied[0], key=lambda cell: cost.measure(cell) or 0.0) if cost else self.tied[0][0]

    @property
    def equal(self) -> tuple[CellResult, ...]:
        """The cells with the same values as the recommended cell, itself included."""
        return next(group for group in self.tied if self.cell in group)

    @property
    def spans_conditions(self) -> bool:
        """True if the compared cells were tested under different conditions."""
        return spans_conditions(self.compared)

    @property
    def n_tied(self) -> int:
        """Number of cells that may be the best."""
        return sum(map(len, self.tied))

    @property
    def n_near(self) -> int:
        """Number of these that are within one standard error of the best mean."""
        return sum(map(len, self.near))

    @property
    def least_covered(self) -> CellResult | None:
        """The equal cell that brings the least gold into the prompt. None if all bring the same, or if this is
        unknown.
        """
        least = min(self.equal, key=_coverage)
        return least if not self.weighs_tokens and _coverage(least) < _coverage(self.cell) else None

    @property
    def tokens(self) -> Cost | None:
        """The cost by which the tokens of cells were compared. None if tokens are not compared or are unknown."""
        return _tokens([cell for group in self.near for cell in group], weighs_tokens=self.weighs_tokens)

    @property
    def saves_tokens(self) -> bool:
        """True if the cell takes noticeably fewer tokens than the cell with the best mean."""
        cost = self.tokens
        return cost is not None and (cost.measure(self.cell) or 0.0) * EQUALLY_CHEAP < (cost.measure(self.best) or 0.0)


class _WithAxes(Protocol):
    """A cell that is planned or has run."""

    @property
    def axes(self) -> Mapping[str, Json]: ...


_Cell = TypeVar("_Cell", bound=_WithAxes)


def is_bound(cell: _WithAxes) -> bool:
    """Return True for a cell that is an upper bound of others, and not an option to choose."""
    return cell.axes.get("retriever") in _BOUNDS


def without_bounds(cells: Sequence[_Cell]) -> list[_Cell]:
    """Return the cells that are an option to choose; all of them if none is."""
    return [cell for cell in cells if not is_bound(cell)] or list(cells)


def spans_conditions(cells: Iterable[CellResult]) -> bool:
    """Return True if the cells were tested under different conditions, so that no comparison between them is fair."""
    return len({cell.axes.get(CONDITION) for cell in cells} - {None}) > 1


def find_choice(
    cells: Sequence[CellResult],
    folder_of: Callable[[CellResult], Path],
    metric: str,
    subset: str,
    *,
    larger_is_better: bool,
    test: PairedTest,
) -> Choice:
    """Test the cells and choose one. Upper bounds take no part.

    `cells` are the successful cells of a sweep that have a value, at least one: see `find_indistinguishable_cells`.
    Raises DataError if samples cannot be read.
    """
    cells = without_bounds(cells)
    if len(cells) == 1:
        only = ((cells[0],),)
        return Choice(cells[0], only, only, (cells[0],), {}, depends_on_prompt(cells[0], metric))
    undecided_cells = find_indistinguishable_cells(
        cells, folder_of, metric, subset, larger_is_better=larger_is_better, test=test
    )
    compared = undecided_cells.joined.cells
    tied = [[compared[index] for index in indices] for indices in undecided_cells.groups]
    means = dict(zip((cell.cell_id for cell in compared), undecided_cells.joined.means().tolist(), strict=True))
    return replace(choose(tied, undecided_cells.is_near, compared, metric, means), too_few=undecided_cells.too_few)


def choose(
    tied: Sequence[Sequence[CellResult]],
    is_near: Sequence[bool],
    compared: Sequence[CellResult],
    metric: str,
    means: Mapping[str, float],
) -> Choice:
    """Choose among cells that may be the best. See `Choice` for the arguments; `is_near` has an item for each group.

    If cells were tested under different conditions, costs decide nothing, and the cell with the best mean is returned.
    """
    weighs_tokens = depends_on_prompt(tied[0][0], metric)
    groups = tuple(map(tuple, tied))
    near_groups = tuple(group for group, flag in zip(groups, is_near, strict=True) if flag)
    if spans_conditions(compared):
        return Choice(tied[0][0], groups, near_groups, tuple(compared), means, weighs_tokens)
    options = [cell for group in near_groups for cell in (group if weighs_tokens else [max(group, key=_coverage)])]
    cost = _tokens(options, weighs_tokens=weighs_tokens)
    noise = latency_noise(compared)
    shares = [answered_share(cell) if weighs_tokens else 1.0 for cell in options]
    cheap = cheap_indices(
        [
            cost_per_answer(cost.measure(cell) if cost else None, share)
            for cell, share in zip(options, shares, strict=True)
        ],
        [cost_per_answer(cell.latency_s.get("p50"), share) for cell, share in zip(options, shares, strict=True)],
        [noise[cell.cell_id] for cell in options],
    )
    return Choice(options[cheap[0]], groups, near_groups, tuple(compared), means, weighs_tokens)


def _tokens(cells: Sequence[CellResult], *, weighs_tokens: bool) -> Cost | None:
    known = known_costs(cells, TOKENS if weighs_tokens else ())
    return known[0] if known else None


def _coverage(cell: CellResult) -> float:
    return cell.value(COVERAGE) or 0.0
