"""python -m analysis repeats: splits the noise of a metric into samples, answers and judge."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.markup import escape

from analysis import table_output as terminal
from analysis.table_output import UNKNOWN, TableColumn
from components.errors import DataError
from components.statistics.noise_sources import MIN_CLUSTERS, Variance, VarianceSplit, variance_split
from components.subsets import MACRO
from runner import results
from runner.console.command_parser import SWEEP
from runner.console.styled_text import count
from runner.results import (
    DRAWS,
    OK,
    CellResult,
    LoadedSweep,
    SubsetMetric,
    common_samples,
    groups_note,
    identify_configuration,
)

Draw = tuple[int, int]
"""Draw indices: (answer draw, judgement draw)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=f"{SWEEP}, with repeat=0,1 or judge_repeat=0,1")
    parser.add_argument(
        "--metric", required=True, metavar="METRIC", help="metric whose noise to split, e.g. read/qa_1doc:accuracy"
    )
    terminal.add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print a row for each repeated configuration. Returns 0.

    Raises DataError if no configuration with a value was repeated.
    """
    sweep = results.load(options.sweep)
    metric = sweep.metric(options.metric)
    cells = [cell for cell in sweep.cells if cell.status == OK and metric.value(cell) is not None]
    if metric.subset == MACRO:
        raise DataError(
            f"--metric {options.metric}: a mean over subsets has no values of single samples. Choose one subset, or "
            "leave the subset out for all samples."
        )
    groups = [group for group in _group_draws(cells) if len(group) > 1]
    if not groups:
        raise DataError(
            f"{sweep.name}: no configuration with a value of {metric} was repeated. Run the sweep with repeat=0,1,2 "
            "(several answers), judge_repeat=0,1,2 (several judgements), or both."
        )
    repeated = [_split(group, sweep, metric) for group in groups]
    console = terminal.make_console(options.format)
    title = f"{metric}: standard deviation of one sample, by source"
    terminal.show_table(console, title, _columns(repeated, results.shown_axes(cells)))
    for line in filter(None, [*_NOTES, groups_note(sweep.cells)]):
        console.print(f"[dim]{escape(line)}[/]")
    return 0


@dataclass(frozen=True)
class RepeatedCell:
    """A configuration with all of its draws: one of its cells, the mean over them, and the noise."""

    cell: CellResult
    n_answers: int
    n_judgements: int
    mean: float
    split: VarianceSplit


def _group_draws(cells: Sequence[CellResult]) -> list[dict[Draw, CellResult]]:
    """Group cells that differ only in their draws, each group by draw."""
    groups: dict[str, dict[Draw, CellResult]] = {}
    for cell in cells:
        draw = (int(cell.axes.get("repeat") or 0), int(cell.axes.get("judge_repeat") or 0))
        groups.setdefault(identify_configuration(cell), {})[draw] = cell
    return list(groups.values())


def _split(group: Mapping[Draw, CellResult], sweep: LoadedSweep, metric: SubsetMetric) -> RepeatedCell:
    """Split the noise over the samples that have a value in all draws.

    Raises DataError if a combination of draws is missing, or fewer than two samples have values.
    """
    answers, judgements = (sorted({draw[part] for draw in group}) for part in (0, 1))
    draws = [(answer, judgement) for answer in answers for judgement in judgements]
    if missing := [draw for draw in draws if draw not in group]:
        answer, judgement = missing[0]
        raise DataError(
            f"{sweep.name}: repeat={answer} judge_repeat={judgement} has no value for "
            f"{next(iter(group.values())).cell_id}. Run all combinations of repeat and judge_repeat."
        )
    joined = common_samples([group[draw] for draw in draws], sweep.folder_of, metric.metric, metric.subset)
    if joined.combine is not None or joined.apart:
        raise DataError(
            f"{sweep.name}: {metric} has no values of single samples that all repeats share, expected a metric "
            "that is a mean over samples, of the same questions in all repeats"
        )
    values = joined.statistics[:, :, 0].reshape(joined.n, len(answers), len(judgements))
    split = variance_split(values, joined.clusters)
    if split is None:
        raise DataError(
            f"{sweep.name}: {metric} has a value in all repeats for {count(joined.n, 'sample')}, expected at least two"
        )
    return RepeatedCell(group[draws[0]], len(answers), len(judgements), float(values.mean()), split)


def _columns(rows: Sequence[RepeatedCell], axes: Sequence[str]) -> list[TableColumn]:
    shown_axes = [axis for axis in axes if axis not in DRAWS]
    return [
        TableColumn("cell", [each.cell.cell_id[:8] for each in rows], is_number=False, is_id=True),
        *(
            TableColumn(
                axis, [escape(results.format_level(each.cell.axes.get(axis))) for each in rows], is_number=False
            )
            for axis in shown_axes
        ),
        TableColumn("samples", [str(each.split.n_samples) for each in rows]),
        TableColumn("groups", [str(each.split.n_clusters) for each in rows]),
        TableColumn("answers", [str(each.n_answers) for each in rows]),
        TableColumn("judgements", [str(each.n_judgements) for each in rows]),
        TableColumn("mean", [terminal.number(each.mean, terminal.n_digits([each.mean])) for each in rows]),
        TableColumn("between samples", [_deviation(each.split.sample) for each in rows]),
        TableColumn("between answers", [_deviation(each.split.generation) for each in rows]),
        TableColumn("between judgements", [_deviation(each.split.judge) for each in rows]),
        TableColumn(
            "SE of the mean",
            [_error(each.split.standard_error(each.n_answers, each.n_judgements)) for each in rows],
        ),
        TableColumn("SE with one draw", [_error(each.split.standard_error(1, 1)) for each in rows]),
        TableColumn("SE with infinite draws", [_error(each.split.choice_error) for each in rows]),
    ]


def _error(error: float | None) -> str:
    """Format an error; a dash for a single group of samples, which does not determine it."""
    return UNKNOWN if error is None else f"{error:.4f}"


def _deviation(variance: Variance | None) -> str:
    """Format a deviation with its 95% interval, if known. Return a dash if no repeats estimate it."""
    if variance is None:
        return UNKNOWN
    value = f"{np.sqrt(variance.value):.3f}"
    if variance.low is None or variance.high is None:
        return value
    return f"{value} [dim]{np.sqrt(variance.low):.3f}–{np.sqrt(variance.high):.3f}[/]"


_NOTES = (
    "without judge_repeat, the deviation of the answers includes the judge's noise",
    "standard errors treat each group of dependent samples as one unit; more repeats cannot lower them below the last "
    "column, more groups can",
    f"intervals of deviations need at least {MIN_CLUSTERS} effective groups",
)
