"""Sentences below the table of `python -m analysis compare`."""

from collections import Counter
from collections.abc import Iterator

from analysis.comparison_family import (
    BETTER,
    MAY_BE_BEST,
    UNDECIDED,
    WORSE,
    ComparisonRow,
    Family,
    Standing,
    detectable_range,
    needed_range,
)
from components.statistics import POWER
from runner import results
from runner.console.excluded_samples import excluded_texts
from runner.console.styled_text import join_names
from runner.results import (
    COMPARE_ALIKE,
    DATA_KEY,
    CellResult,
    Labels,
    coupling_notes,
    distinguishing_labels,
    effective_groups_note,
    groups_note,
    search_text,
    spans_conditions,
    too_few_groups,
)

_FEW_CLUSTERS = 50

_MAX_FALSE_RATE = "0.23"
"""Highest rate that `python -m benchmarks error_rates` reports."""


def search_lines(family: Family) -> Iterator[str]:
    """Yield lines about searches, and a line if the number of cells rules out a significant p-value."""
    yield from map(search_text, family.sweep.searches)
    if family.n_corrected > len(family.rows) and family.test.n_resamples * family.alpha < family.n_corrected:
        yield (
            f"{family.test.n_resamples:,} resamples give no p-value below {1 / family.test.n_resamples:g}, which is no "
            f"evidence over {family.n_corrected:,} cells: compare the cell to take with the baseline on new samples"
        )


def sample_lines(family: Family) -> list[str]:
    """Describe the compared samples, and the left-out ones with the reasons. Cells with equal reasons share a line."""
    of = f" of {family.n_known}" if family.n < family.n_known else ""
    worth = effective_groups_note(family.n_clusters, family.n_effective)
    groups = "1 group" if family.n_clusters == 1 else f"{family.n_clusters} independent groups{worth}"
    lines = [f"over {family.n}{of} samples in {groups}"]
    notes = [groups_note(family.sweep.cells), _versions_note(family), *coupling_notes(family.sweep.cells)]
    assumed = list(filter(None, notes))
    cells: dict[str, list[str]] = {}
    for standing in family.standings:
        if why := ", ".join(excluded_texts(dict(sorted(standing.left_out.items())))):
            cells.setdefault(why, []).append(standing.cell.cell_id[:8])
    if list(map(len, cells.values())) == [len(family.standings)] and not family.left_out_differ:
        return [f"{lines[0]}; excluded: {next(iter(cells))}", *assumed]
    return lines + assumed + [f"excluded because of {', '.join(ids)}: {why}" for why, ids in cells.items()]


def _versions_note(family: Family) -> str:
    """Return a note if documents or samples of a data set were changed between the cells."""
    cells = [cell for standing in family.standings for cell in standing.cells]
    names = {str(cell.dataset.get("name")) for cell in cells}
    versions = {(str(cell.axes.get("parser")), cell.dataset["key"]) for cell in cells if cell.dataset.get("key")}
    n_versions = max(Counter(parser for parser, _ in versions).values(), default=0)
    if len(names) > 1 or n_versions < 2:
        return ""
    note = f"The cells have {n_versions} versions of {names.pop()} ({DATA_KEY})."
    if distinguishing_labels(cells) is Labels.SPANS:
        return f"{note} Samples with another history, gold or references are left out."
    return (
        f"{note} Samples with another history, gold documents or references are left out. Changed spans of gold and "
        "changed documents may explain part of a difference."
    )


def trust_lines(family: Family) -> list[str]:
    """Warn where the results are less reliable than they look."""
    if not family.rows:
        return []
    if family.n_clusters == 1:
        return []
    worth = effective_groups_note(family.n_clusters, family.n_effective)
    is_known = family.n_effective >= _FEW_CLUSTERS
    few = "" if is_known else f" ({family.n_clusters} groups{worth}: too few for asymptotic theory)"
    lines = [
        f"rate of false verdicts at an alpha of 0.05: up to 0.05 in most of our simulations{few}, up to 0.10 with "
        f"extreme skew, up to {_MAX_FALSE_RATE} for a cell with rare, severe failures that the samples miss"
    ]
    if any(_excludes_zero(row) and not row.is_decided for row in family.rows):
        p = "adj. p" if family.baseline_is_best else "Holm p"
        lines.append(
            f"{p} is corrected for all comparisons, intervals are not: a verdict can be "
            f"'{MAY_BE_BEST if family.baseline_is_best else UNDECIDED}' although the interval excludes 0"
        )
    if family.rows[0].comparison.standard_error is None:
        lines.append(
            "all samples of a subset belong to one group, so their spread is unknown: there is no interval and "
            "no detectable difference, and p-values come from sign changes only"
        )
    return lines


def summary_lines(family: Family, is_for_print: bool) -> list[str]:
    """Return the conclusion, the order of the cells by their own samples, and what more questions would show."""
    lines = (
        _own_means_line(family),
        _conclusion(family, is_for_print),
        _detectable_line(family),
        _needed_line(family),
    )
    return [line for line in lines if line]


def _own_means_line(family: Family) -> str:
    """Describe the order of the cells by the mean over each cell's samples."""
    if not family.left_out_differ:
        return ""
    own_order, common_order = (
        [standing.cell.cell_id[:8] for standing in order]
        for order in (family.standings_by_own_mean(), family.standings_by_mean())
    )
    reading = "the order is the same" if own_order == common_order else f"the order is {', '.join(own_order)}"
    return f"Cells exclude different samples; over each cell's own {reading}."


def _conclusion(family: Family, is_for_print: bool) -> str:
    """Name the cells that may be the best, or count the cells that are better and worse than the baseline."""
    if not family.rows:
        return f"All {len(family.baseline.cells)} cells have the same value for every sample."
    return _describe_best_cells(family, is_for_print) if family.baseline_is_best else _against_baseline(family)


def _unit(family: Family) -> str:
    return "rows" if any(standing.same for standing in family.standings) else "cells"


def correction_text(family: Family) -> str:
    """Return the correction of the test against the best cell, e.g. "corrected for any two of 12 cells"."""
    n_standings = len(family.standings)
    return f"corrected for {'the 2' if n_standings == 2 else f'any two of {n_standings}'} {_unit(family)}"


def _describe_best_cells(family: Family, is_for_print: bool) -> str:
    """Describe the model confidence set: the best cell on these samples, and the cells that the test could not rule
    out. No cell is recommended if cells were tested under different conditions.
    """
    if spans_conditions([cell for standing in family.standings for cell in standing.cells]):
        return COMPARE_ALIKE
    n_cells, rows, how = len(family.standings), _unit(family), correction_text(family)
    confidence = f"With {100 * (1 - family.alpha):.4g}% confidence"
    name, others = _row_name(family, family.baseline), [row.standing for row in family.not_distinguishable]
    if is_for_print:
        which = f"one of the {len(others) + 1} rows without *" if others else "in the first row"
        return f"{confidence} the best cell is {which} ({how})."
    if not others:
        return f"{confidence} the best cell is {name} ({how})."
    ids = ", ".join(standing.cell.cell_id[:8] for standing in others)
    return f"{confidence} the best cell is one of these: {name}, {ids} ({len(others) + 1} of {n_cells} {rows}; {how})."


def _against_baseline(family: Family) -> str:
    n_tested = family.n_corrected
    counts = Counter(row.verdict for row in family.rows)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (BETTER, WORSE, UNDECIDED))
    comparisons = f"{n_tested:,} comparison{'s' if n_tested != 1 else ''}"
    name = _row_name(family, family.baseline)
    return f"Against {name}: {verdicts} (alpha {family.alpha:g}, Holm over {comparisons})."


def _detectable_line(family: Family) -> str:
    """Describe the smallest detectable difference. It varies between cells with the spread of their differences from
    the baseline.
    """
    ends = detectable_range(family)
    if not ends:
        few = too_few_groups(family.n_clusters, family.n_effective)
        fewer = ", or compare fewer cells" if family.n_corrected > 1 else ""
        remedy = f"Add questions about documents that have none yet{fewer} (docs/decisions.md)."
        return f"{few.capitalize()}. {remedy}" if family.has_too_few_groups else ""
    span = ends[0] if len(ends) == 1 else f"{join_names(ends, 'to')}, depending on the cell"
    questions = "1 question" if family.n == 1 else f"{family.n} questions"
    return f"With {questions}, the smallest detectable difference is about {span} ({POWER:.0%} power, measured spread)."


def _needed_line(family: Family) -> str:
    """Describe the number of questions that would distinguish the rows without a significant difference."""
    span = needed_range(family)
    if not span:
        return ""
    against = "the best cell" if family.baseline_is_best else "the baseline"
    undecided = "the tied cells" if len(family.not_distinguishable) > 1 else "the tied cell"
    return f"At the observed differences, it would take {span} questions to separate {undecided} from {against}."


def _row_name(family: Family, standing: Standing) -> str:
    """Return the id of a row's cell, with all values of the row's axes ("parser=office or combined")."""
    if not standing.same:
        return cell_name(family, standing.cell)
    used = [axis for axis in family.axes() if any(cell.axes.get(axis) is not None for cell in standing.cells)]
    levels = ", ".join(f"{axis}={standing.level(axis).replace(', ', ' or ')}" for axis in used)
    return f"{short_name(standing)} ({levels})"


def cell_name(family: Family, cell: CellResult) -> str:
    """Return a cell's short id and the axis values that distinguish it."""
    axes = results.describe(cell, family.axes())
    return f"{cell.cell_id[:8]} ({axes})" if axes else cell.cell_id[:8]


def short_name(standing: Standing) -> str:
    """Return a cell's short id, with the number of cells that have identical values."""
    return standing.cell.cell_id[:8] + (f" +{len(standing.same)}" if standing.same else "")


def _excludes_zero(row: ComparisonRow) -> bool:
    low, high = row.comparison.low, row.comparison.high
    return low is not None and high is not None and not low <= 0.0 <= high
