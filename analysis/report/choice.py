"""Which of the cells that may be the best to take."""

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.comparison import Family, Standing
from analysis.costs import cheapest
from runner.results import CellResult, sees_prompts

COVERAGE = "passage_coverage"
"""The metric that says how much of the gold is in the prompt."""


@dataclass(frozen=True)
class Choice:
    """The cell to take. `cells` are those that are one with it to a metric that does not see prompts, such as those
    with another top_k: of these it is the one that brings most of the gold into the prompt.
    """

    cell: CellResult
    cells: tuple[CellResult, ...]
    weighs_tokens: bool

    @property
    def emptiest(self) -> CellResult | None:
        """The cell that brings least of the gold into the prompt; None where all bring the same, or it is not known."""
        least = min(self.cells, key=_covered)
        return least if _covered(least) < _covered(self.cell) else None


def choice_of(family: Family) -> Choice:
    """The cheapest of the cells that may be the best; the fastest, where the metric does not see prompts."""
    if sees_prompts(family.baseline.cell, family.metric.metric):
        chosen = cheapest(may_be_best(family))
        return Choice(chosen, (chosen,), weighs_tokens=True)
    standings = list(_undecided(family))
    fullest = [max(standing.cells, key=_covered) for standing in standings]
    chosen = cheapest(fullest, weighs_tokens=False)
    return Choice(chosen, standings[fullest.index(chosen)].cells, weighs_tokens=False)


def may_be_best(family: Family) -> list[CellResult]:
    """The best cell, those with the same values, and those that the tests cannot tell from it."""
    return [cell for standing in _undecided(family) for cell in standing.cells]


def _undecided(family: Family) -> Iterable[Standing]:
    return family.baseline, *(row.standing for row in family.not_distinguishable)


def _covered(cell: CellResult) -> float:
    return cell.value(COVERAGE) or 0.0
