"""Section: failures of samples by cell, their causes, the depth of the evidence, and changes between two cells."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.charts.curves import Curve, curves
from analysis.charts.stacked_bars import BarKind, stacked_bars
from analysis.forensics import evidence_depth, transitions
from analysis.report.answer_section import ReportAnswer
from analysis.report.report_input import ReportSource
from analysis.report.sample_classes import CLASSES
from components.errors import DataError
from components.forensics.stages import BROKEN, EvidenceStage
from runner.results import OK, CellResult

if TYPE_CHECKING:
    import pandas as pd

MAX_VERDICTS, MAX_CELLS, MAX_CURVES, MAX_MOVES = 80_000, 20, 8, 8
_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 75, 100, 150, 200, 500, 1000)


@dataclass(frozen=True)
class FailureRow:
    """A cell's samples by class. The class of `n_uncertain` of them is uncertain."""

    cell_id: str
    name: str
    counts: Mapping[str, int]
    n: int
    n_uncertain: int


@dataclass(frozen=True)
class Depths:
    """The share of samples whose whole gold is within the first `depths` hits, by cells with equal searches."""

    depths: tuple[int, ...]
    shares: Mapping[str, tuple[float, ...]]
    svg: str


@dataclass(frozen=True)
class ClassTransition:
    """The number of samples of class `before` in one cell and of class `after` in the other cell."""

    before: str
    after: str
    n: int


@dataclass(frozen=True)
class Failures:
    """Failures of the first `rows` cells by the metric. `n_cells_left_out` cells were not examined, as the page states.

    `moves` lead from the cell `before` to the cell `after`, both by id, "" with a single cell. `n_lost` of the
    `n_with_gold` samples of the cell to take lack gold in their prompts.
    """

    classes: tuple[str, ...]
    rows: tuple[FailureRow, ...]
    n_cells_left_out: int
    n_lost: int
    n_with_gold: int
    depths: Depths | None
    before: str
    after: str
    moves: tuple[ClassTransition, ...]
    svg: str


def gather(source: ReportSource, answer: ReportAnswer) -> Failures | str:
    """Return the section, or the reason for its absence."""
    import pandas as pd

    if not answer.take:
        if source.sweep.lacks_quality:
            return "No cell can be recommended, so none is described. python -m analysis samples shows any of them."
        failed = any(cell.status != OK for cell in source.sweep.cells)
        return "No cell succeeded: the section of all cells has the reasons." if failed else "No cell has results."
    cells = cells_to_examine(source, answer)
    try:
        rows = [_row(source, cell) for cell in cells]
    except DataError as error:  # results of an earlier version: the page reports this, and has all other sections
        return str(error)
    verdicts = pd.concat([source.verdicts(cell) for cell in cells], ignore_index=True)
    classes = tuple(name for name in CLASSES if any(row.counts.get(name) for row in rows))
    take, last = pair(source, answer, cells)
    lost, with_gold = _lost(source.verdicts(take))
    return Failures(
        classes,
        tuple(rows),
        len(source.ordered) - len(cells),
        lost,
        with_gold,
        _depths(source, cells, verdicts),
        last.cell_id if last else "",
        take.cell_id if last else "",
        tuple(_moves(verdicts, last, take)) if last else (),
        _bars(rows, classes),
    )


def cells_to_examine(source: ReportSource, answer: ReportAnswer) -> list[CellResult]:
    """Return the cells to examine, in the order of the metric.

    They are the cell to take, the best one and the last one, then the next cells, as many as are affordable.
    """
    ordered = source.ordered
    required = [cell for cell in ordered if cell.cell_id in (answer.take, answer.best)]
    by_need = [*required, *ordered[-1:], *ordered]
    chosen: dict[str, int] = {}
    for cell in by_need:
        n = sum(cell.counts.values())
        is_affordable = len(chosen) < MAX_CELLS and sum(chosen.values()) + n <= MAX_VERDICTS
        if is_affordable or len(chosen) < 2:
            chosen.setdefault(cell.cell_id, n)
    return [cell for cell in ordered if cell.cell_id in chosen]


def pair(
    source: ReportSource, answer: ReportAnswer, cells: Sequence[CellResult]
) -> tuple[CellResult, CellResult | None]:
    """Return the cell to take, and the last cell by the metric, with which it is compared."""
    take = next(cell for cell in cells if cell.cell_id == answer.take)
    last = cells[-1] if cells[-1] is not take else cells[0]
    return take, last if last is not take else None


def _row(source: ReportSource, cell: CellResult) -> FailureRow:
    verdicts = source.verdicts(cell)
    counts = Counter(verdicts["class"])
    in_order = {name: counts[name] for name in CLASSES if counts[name]}
    return FailureRow(
        cell.cell_id, source.names.short_name(cell), in_order, len(verdicts), int(verdicts["is_uncertain"].sum())
    )


def _lost(verdicts: "pd.DataFrame") -> tuple[int, int]:
    with_gold = verdicts[~verdicts["stage"].isin([EvidenceStage.NO_GOLD.value, EvidenceStage.NOT_SEARCHED.value])]
    return int(with_gold["stage"].isin([stage.value for stage in BROKEN]).sum()), len(with_gold)


def _depths(source: ReportSource, cells: Sequence[CellResult], verdicts: "pd.DataFrame") -> Depths | None:
    """Return the depths of the first cells with different searches, or None if no cell searches."""
    table = evidence_depth(verdicts)
    if table.empty:
        return None
    depths = tuple(depth for depth in _DEPTHS if depth <= table["k"].max())
    shares = table[table["k"].isin(depths)].groupby("cell_id")["share"].agg(tuple).to_dict()
    alike: dict[tuple[float, ...], list[CellResult]] = {}
    for cell in cells:
        if cell.cell_id in shares:
            alike.setdefault(shares[cell.cell_id], []).append(cell)
    shares_by_name = {
        source.names.joined_name(group): own_shares for own_shares, group in list(alike.items())[:MAX_CURVES]
    }
    lines = [Curve(name, own_shares) for name, own_shares in shares_by_name.items()]
    title = "Share of samples whose gold is complete in the first k hits"
    return Depths(depths, shares_by_name, curves([str(depth) for depth in depths], lines, "k, the first hits", title))


def _moves(verdicts: "pd.DataFrame", before: CellResult, after: CellResult) -> list[ClassTransition]:
    """Return the most frequent changes of class; [] for cells over different samples."""
    by_class = verdicts.assign(failure=verdicts["class"])
    if set(by_class[by_class["cell_id"] == before.cell_id]["id"]).isdisjoint(
        by_class[by_class["cell_id"] == after.cell_id]["id"]
    ):
        return []
    table = transitions(by_class, before.cell_id, after.cell_id)
    changed = table[table["before"] != table["after"]]
    return [
        ClassTransition(*row)
        for row in changed.head(MAX_MOVES)[["before", "after", "n"]].itertuples(index=False, name=None)
    ]


def _bars(rows: Sequence[FailureRow], classes: Sequence[str]) -> str:
    kinds = [BarKind(name, CLASSES[name].label, CLASSES[name].fill, CLASSES[name].ink) for name in classes]
    labels = {row.name if len({one.name for one in rows}) == len(rows) else row.cell_id[:8]: row.counts for row in rows}
    return stacked_bars(labels, kinds, "Samples of each cell by where they fail; the table below has the numbers")
