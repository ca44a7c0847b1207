"""python -m analysis candidates: the best cell for each subset, topic and task, and the cells that tie with it."""

import argparse
from collections.abc import Mapping, Sequence

from rich.markup import escape

from analysis import table_output as terminal
from analysis.decision import Candidates, candidates
from analysis.decision.scenario_scores import MIN_CLUSTERS, MIN_SAMPLES, SUBSET
from analysis.report.cell_names import CellNames
from analysis.table_output import STAR, UNKNOWN, Marks, TableColumn
from components.subsets import UNNAMED
from runner import results
from runner.console.command_parser import METRIC, SWEEP
from runner.results import COMPARE_ALIKE, CellResult, LoadedSweep, groups_note

_N_NAMED = 3
"""Maximum number of tied cells to name."""

_INDENT = "  "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("--metric", default="", metavar="METRIC", help=METRIC)
    terminal.add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print a row for all samples and for each subset, task and topic. Returns 0.

    Raises DataError if the sweep cannot be read or lacks the metric.
    """
    sweep = results.load(options.sweep)
    metric = sweep.metric(options.metric or sweep.quality_metric())
    rows = candidates(sweep, metric)
    console = terminal.make_console(options.format)
    direction = "larger" if metric.direction() else "smaller"
    title = f"Cells that may be the best, by {metric.metric} ({direction} is better)"
    terminal.show_table(console, title, _columns(rows, sweep), _marks(rows))
    left_out = sweep.left_out(max(each.n_cells for each in rows), leaves_out_bounds=True)
    for line in filter(None, [*_notes(rows, sweep), left_out]):
        console.print(f"[dim]{escape(line)}[/]")
    return 0


def _columns(rows: Sequence[Candidates], sweep: LoadedSweep) -> list[TableColumn]:
    names = CellNames(sweep.cells)
    name_of = {cell.cell_id: escape(names.short_name(cell)) for cell in sweep.cells}
    cells = {cell.cell_id: cell for cell in sweep.cells}
    digits = terminal.n_digits(each.cells[0].mean for each in rows)
    return [
        TableColumn("scenario", [_label(each) for each in rows], is_number=False),
        TableColumn("take", [_take(each, name_of) for each in rows], is_number=False),
        TableColumn("best cell", [escape(names.joined_name(_best(each, cells))) for each in rows], is_number=False),
        TableColumn("best mean", [terminal.number(each.cells[0].mean, digits) for each in rows]),
        TableColumn("n", [f"{each.n:,}" for each in rows]),
        TableColumn("may be the best", [_how_many(each) for each in rows], is_number=False),
        TableColumn("tied with the best", [_list_tied(each, name_of) for each in rows], is_number=False, optional=True),
        TableColumn("cell", [each.take[:8] for each in rows], is_number=False, optional=True, is_id=True),
        TableColumn("groups", [f"{each.n_clusters:,}" for each in rows], optional=True),
    ]


def _best(each: Candidates, cells: Mapping[str, CellResult]) -> list[CellResult]:
    """Return the cell with the best mean, and all cells with an equal mean."""
    return [cells[one.cell_id] for one in each.cells if one.mean == each.cells[0].mean]


def _marks(rows: Sequence[Candidates]) -> Marks:
    row_marks = ["" if len(each.cells) == each.n_cells else STAR for each in rows]
    return Marks(row_marks, star="some cells are significantly worse than the best, at an alpha of 0.05")


def _label(each: Candidates) -> str:
    """Return the scenario's label, indented below its parent subset."""
    scenario = each.scenario
    depth = scenario.subset.count("/") if scenario.kind == SUBSET else 0
    kind = "" if scenario.kind in (SUBSET, "all") else f"{scenario.kind}: "
    return f"{_INDENT * depth}{kind}{escape(scenario.label)}"


def _how_many(each: Candidates) -> str:
    if not each.has_enough_samples:
        return "too few samples" if each.n < MIN_SAMPLES else "too few groups"
    n, n_all = len(each.cells), each.n_cells
    return f"all {n_all}" if n == n_all else f"{n} of {n_all}"


def _take(each: Candidates, name_of: dict[str, str]) -> str:
    return UNKNOWN if each.spans_conditions else name_of[each.take]


def _list_tied(each: Candidates, name_of: dict[str, str]) -> str:
    """Name the first few tied cells; "all" if every cell may be the best."""
    tied = [name_of[one.cell_id] for one in each.cells[1:]]
    if len(each.cells) == each.n_cells:
        return "all" if each.n_cells > 2 else ", ".join(tied)
    more = [f"{len(tied) - _N_NAMED} more"] if len(tied) > _N_NAMED else []
    return ", ".join([*tied[:_N_NAMED], *more])


def _notes(rows: Sequence[Candidates], sweep: LoadedSweep) -> list[str]:
    names = CellNames(sweep.cells)
    lines = [COMPARE_ALIKE] if any(each.spans_conditions for each in rows) else []
    lines += [
        f"cells are named by {names.rule}; with 95% confidence for each row by itself, the best cell is among those "
        "that may be the best",
    ]
    if not all(each.has_enough_samples for each in rows):
        lines.append(f"too few: fewer than {MIN_SAMPLES} samples, or fewer than {MIN_CLUSTERS} independent groups")
    lines += filter(None, [groups_note(sweep.cells)])
    if same := [
        f"{each.scenario.label}: {', '.join(others)}"
        for each in rows
        if (others := [name for name in each.scenario.same_as if name != UNNAMED])
    ]:
        lines.append(f"scenarios with the same samples are shown once: {'; '.join(same)}")
    return lines
