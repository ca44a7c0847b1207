"""Section: all cells, best first, with intervals and verdicts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis import comparison_records
from analysis.comparison_family import WORSE, ComparisonRow, Family, Standing, detectable_range
from analysis.report.report_input import ComparedCells, ReportSource
from components.statistics import POWER
from runner.console.styled_text import count, count_decimals, join_names, number
from runner.results import (
    CONTEXT_TOKENS,
    COSTS,
    CellResult,
    SubsetMetric,
    are_draws,
    effective_groups_note,
    groups_note,
    mean_entry,
    too_few_groups,
)

MAX_ROWS = 100
BEST = "best"

Span = tuple[float, float]
"""The smallest and the largest value of cells that share a row."""


@dataclass(frozen=True)
class CellRow:
    """A cell, or several cells with the same value for every sample.

    `mean` is over the samples that all cells have. `low` and `high` are the interval of `own_mean`, over the `n`
    samples for which this cell has a value. `difference` with its interval and `p_adjusted` compare it with the best
    cell.
    """

    cell_ids: tuple[str, ...]
    name: str
    levels: dict[str, str]
    mean: float
    own_mean: float
    n: int
    low: float | None
    high: float | None
    verdict: str = ""
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p_adjusted: float | None = None
    context_tokens: Span | None = None
    tokens: Span | None = None
    seconds: Span | None = None


@dataclass(frozen=True)
class CellTable:
    """The cells by one metric.

    `comparison` is the output of `python -m analysis compare --json`. Without a comparison it is None, and `why_not` is
    the reason.
    """

    metric: str
    subset: str
    title: str
    larger_is_better: bool
    digits: int
    has_own_means: bool
    rows: tuple[CellRow, ...]
    notes: tuple[str, ...]
    why_not: str
    comparison: dict[str, object] | None

    @property
    def shown(self) -> tuple[CellRow, ...]:
        """The rows that fit on the page."""
        return self.rows[:MAX_ROWS]

    @property
    def n_more(self) -> int:
        """Number of rows that do not fit on the page."""
        return len(self.rows) - len(self.shown)

    def verdict_text(self, row: CellRow) -> str:
        """Return the verdict of a row in words. A cell with a larger context is not a worse cell."""
        return "more tokens" if self.metric == CONTEXT_TOKENS and row.verdict == WORSE else row.verdict


@dataclass(frozen=True)
class Cells:
    """Tables of all cells by each metric that some cell has, the main metric first.

    `failed` are failed cells with the reason, `stopped` are cells that a race or the user stopped, and `unfinished`
    cells have no result yet. `why_no_tables` is "" if there is a table.
    """

    axes: tuple[str, ...]
    tables: tuple[CellTable, ...]
    failed: tuple[tuple[str, tuple[str, ...]], ...]
    stopped: tuple[tuple[str, tuple[str, ...]], ...]
    unfinished: tuple[str, ...]
    why_no_tables: str


def gather(source: ReportSource) -> Cells:
    """Return the tables of all metrics of the report."""
    valued = [compared for compared in source.compared if source.list_cells_with_value(compared.metric)]
    return Cells(
        tuple(source.names.axes),
        tuple(cell_table(source, compared) for compared in valued),
        by_reason(source, source.sweep.failed),
        by_reason(source, source.sweep.stopped),
        source.sweep.unfinished,
        "" if valued else _why_no_tables(source),
    )


def by_reason(source: ReportSource, cells: Iterable[CellResult]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the reasons of cells without numbers, each with the names of its cells."""
    reasons: dict[str, list[str]] = {}
    for cell in cells:
        reasons.setdefault(cell.reason or "unknown reason", []).append(source.names.prose_name(cell))
    return tuple((reason, tuple(names)) for reason, names in reasons.items())


def _why_no_tables(source: ReportSource) -> str:
    failed = len(source.sweep.failed)
    if failed and failed == len(source.sweep.cells):
        cells = "the only cell" if failed == 1 else f"all {failed:,} cells"
        return f"No table, because {cells} failed: the reasons are below."
    return "No table, because no cell has a value of a metric that ranks cells."


def cell_table(source: ReportSource, compared: ComparedCells) -> CellTable:
    """Return the cells that have a value of a metric, the best first."""
    metric, family = compared.metric, compared.family
    if family:
        rows = [_best_row(source, family), *(_compared_row(source, family, row) for row in family.rows)]
    else:
        sign = 1 if metric.direction() else -1
        rows = [_uncompared_row(source, compared, cell) for cell in source.list_cells_with_value(metric)]
        rows.sort(key=lambda row: -sign * row.mean)
    return CellTable(
        metric=metric.metric,
        subset=metric.subset,
        title=str(metric),
        larger_is_better=metric.direction(),
        digits=count_decimals(row.mean for row in rows),
        has_own_means=bool(family and family.left_out_differ),
        rows=tuple(rows),
        notes=tuple(_notes(source, family)) if family else (),
        why_not=compared.why_not,
        comparison=comparison_records.as_record(family) if family else None,
    )


def _best_row(source: ReportSource, family: Family) -> CellRow:
    return _row(source, family.metric, family.baseline, BEST)


def _compared_row(source: ReportSource, family: Family, row: ComparisonRow) -> CellRow:
    result = row.comparison
    return _row(
        source,
        family.metric,
        row.standing,
        row.verdict,
        difference=result.difference,
        difference_low=result.low,
        difference_high=result.high,
        p_adjusted=row.p_adjusted,
    )


def _uncompared_row(source: ReportSource, compared: ComparedCells, cell: CellResult) -> CellRow:
    value = compared.metric.value(cell)
    assert value is not None, "the caller passes only cells with a value"
    n = int(cell.metrics[compared.metric.subset][compared.metric.metric]["n"])
    return _row(source, compared.metric, Standing(cell, (), value, value, n, {}), "")


def _row(
    source: ReportSource, metric: SubsetMetric, standing: Standing, verdict: str, **against: float | None
) -> CellRow:
    entry = mean_entry(standing.cells, metric.subset, metric.metric)
    return CellRow(
        cell_ids=tuple(cell.cell_id for cell in standing.cells),
        name=source.names.joined_name(standing.cells),
        levels=source.names.values_by_axis(standing.cells),
        mean=standing.mean,
        own_mean=standing.own_mean,
        n=standing.n_own,
        low=entry.get("ci_low"),
        high=entry.get("ci_high"),
        verdict=verdict,
        context_tokens=_span(COSTS[CONTEXT_TOKENS].measure(cell) for cell in standing.cells),
        tokens=_span(COSTS["tokens"].measure(cell) or None for cell in standing.cells),
        seconds=_span(COSTS["seconds"].measure(cell) for cell in standing.cells),
        **against,
    )


def _span(values: Iterable[float | None]) -> Span | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def _sample_note(family: Family) -> str:
    if family.n == family.n_known:
        return f"Over {count(family.n, 'sample')}"
    return f"Over the {family.n:,} of {count(family.n_known, 'sample')} for which every cell has a value,"


def _notes(source: ReportSource, family: Family) -> list[str]:
    """Return facts that readers of the table must know."""
    worth = effective_groups_note(family.n_clusters, family.n_effective)
    notes = [
        f"{_sample_note(family)} in {count(family.n_clusters, 'independent group')}{worth}.",
    ]
    if note := groups_note(family.sweep.cells):
        notes.append(f"{note}.")
    if ends := detectable_range(family):
        span = ends[0] if len(ends) == 1 else f"{join_names(ends, 'to')}, depending on the cell"
        notes.append(f"The smallest detectable difference is about {span} ({POWER:.0%} power, measured spread).")
    elif family.has_too_few_groups:
        notes.append(f"{too_few_groups(family.n_clusters, family.n_effective).capitalize()}.")
    same = [standing for standing in family.standings if standing.same]
    if same:
        draws = (
            ", or for draws of one configuration, with their mean" if any(are_draws(row.cells) for row in same) else ""
        )
        notes.append(
            f"A row with several values of an axis stands for cells with the same value for every sample{draws}."
        )
    notes += _not_compared(source, family)
    return notes


def _not_compared(source: ReportSource, family: Family) -> list[str]:
    kinds: Sequence[tuple[str, Sequence[CellResult]]] = (
        ("they have no value", family.without_value),
        ("they have no sample in common with the others", family.apart),
        ("they are upper bounds, which find the gold in the labels", family.bounds),
    )
    return [
        f"Not compared, because {why}: {join_names(map(source.names.short_name, cells))}."
        for why, cells in kinds
        if cells
    ]


def interval_text(row: CellRow, digits: int) -> str:
    """Format an interval, e.g. "0.915 to 0.958". Return "" if it is unknown."""
    if row.low is None or row.high is None:
        return ""
    fewer = min(digits, 3)
    return f"{number(row.low, fewer)} to {number(row.high, fewer)}"
