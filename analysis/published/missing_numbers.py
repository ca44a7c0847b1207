"""Lists of the sets, columns and rows of a table for which a sweep has no number, each with the reason."""

from collections.abc import Iterator, Sequence

from analysis.published.pairing import has_levels, level_differences
from analysis.published.printed_comparison import PrintedComparison
from analysis.published.printed_numbers import PrintedLevel, PrintedTable, Row
from components.subsets import OVERALL
from runner.results import CellResult

_IDS = 8


def missing_lines(comparison: PrintedComparison) -> list[str]:
    """Return a line for each missing set, column and row; [] if the sweep covers the whole table."""
    return [*_sets(comparison), *_columns(comparison), *_rows(comparison)]


def _sets(comparison: PrintedComparison) -> Iterator[str]:
    cells = [pair.cell for pair in comparison.paired.pairs]
    printed = dict.fromkeys(number.subset for number in comparison.table.numbers if number.subset != OVERALL)
    for name in (*printed, *comparison.table.info.paper.sets):
        without = [cell for cell in cells if name not in cell.metrics]
        if without:
            which = "" if len(without) == len(cells) else f" in {_ids(without)}"
            yield f"Set without a number{which}: {name}: {_why_no_set(name, without[0])}"


def _why_no_set(name: str, cell: CellResult) -> str:
    if name in str(cell.dataset.get("sets_skipped", "")).lower().replace(",", " ").split():
        return "it has no corpus, and dataset.skip_missing=true left it out"
    dataset = cell.config.get("dataset", {})
    for setting in ("subsets", "sets"):
        chosen = dataset.get(setting)
        if chosen is not None and name not in map(str.lower, chosen):
            return f"dataset.{setting} leaves it out"
    limit = dataset.get("limit")
    return "no sample of the sweep is in it" + (f" (dataset.limit={limit})" if limit else "")


def _columns(comparison: PrintedComparison) -> Iterator[str]:
    paper = comparison.table.info.paper
    for block in comparison.blocks:
        name = paper.metrics[block.printed].published
        if not block.ours:
            option = paper.computed_by.get(block.printed, "")
            hint = f"; {option} computes it" if option else ""
            yield f"Column without a number: {block.printed} ({name}): no cell has it{hint}"
        elif not any(line.value is not None for line in block.lines):
            reason = (
                "no cell of a printed row has a value" if any(line.pair for line in block.lines) else "no row has it"
            )
            yield f"Column without a number: {block.printed} ({block.ours}): {reason}"


def _rows(comparison: PrintedComparison) -> Iterator[str]:
    paired = comparison.paired
    successful = [*(pair.cell for pair in paired.pairs), *paired.farther, *paired.cells_without_row]
    for row in paired.rows_without_cell:
        printed = ", ".join(f"{column}={level}" for column, level in row)
        yield f"Row without a cell: {printed}: {_why_no_row(comparison.table, row, successful, comparison.failed)}"


def _why_no_row(table: PrintedTable, row: Row, successful: Sequence[CellResult], failed: Sequence[CellResult]) -> str:
    if broken := [cell for cell in failed if has_levels(table, row, cell)]:
        return f"its cell {broken[0].status} ({_ids(broken)})"
    levels = table.own_levels(row)
    if unknown := [level.printed for level in levels if not level.axes]:
        return f"nothing here corresponds to {', '.join(unknown)}"
    absent = [_setting(level) for level in levels if all(level_differences(level, cell) for cell in successful)]
    return f"no cell has {' '.join(absent)}" if absent else "no cell has these together"


def _setting(level: PrintedLevel) -> str:
    return " ".join(f"{axis}={accepted[0]}" for axis, accepted in level.axes.items())


def _ids(cells: Sequence[CellResult]) -> str:
    return ", ".join(cell.cell_id[:_IDS] for cell in cells)
