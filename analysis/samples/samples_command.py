"""python -m analysis samples: question, answer and where the evidence was, sample by sample."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from analysis import table_output as terminal
from analysis.samples.samples_terminal import show
from analysis.samples.selection import NO_FAILURE, Selection, find_failure_class, select
from analysis.samples.stories import find_corpus_texts, stories
from components.forensics.verdicts import Verdict
from runner import results
from runner.console.command_parser import CELL, SWEEP
from runner.console.excluded_samples import excluded_texts
from runner.results import CellResult, LoadedSweep, SubsetMetric, sample_verdicts

_OF_ANSWERS = ("accuracy", "contains_all", "rouge_l", "f1")
"""Metrics with a value for each answer."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("cell", help=CELL)
    parser.add_argument(
        "--worst", type=_count, default=10, metavar="N", help="show the N worst samples (default: %(default)s)"
    )
    parser.add_argument(
        "--metric",
        default="",
        metavar="METRIC",
        help=(
            "order the samples by this metric, e.g. rouge_l or SUBSET:rouge_l (default: the metric that ranks "
            "the sweep)"
        ),
    )
    parser.add_argument(
        "--against",
        default="",
        metavar="CELL",
        help="order the samples by how much the cell loses to CELL",
    )
    parser.add_argument(
        "--class",
        dest="failure",
        default="",
        metavar="CLASS",
        help="only samples of this failure class, e.g. ranked_low",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write an HTML page to this file")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text}, expected a number of samples, at least 1")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Show the samples. Returns 0. Raises DataError for an unknown sweep, cell, metric or class of failures."""
    failure = find_failure_class(options.failure) if options.failure else None
    sweep = results.load(options.sweep)
    metric = sweep.metric(options.metric or sweep.headline_metric())
    cells = [sweep.cell(options.cell), *([sweep.cell(options.against)] if options.against else [])]
    verdicts = [[sample.verdict for sample in sample_verdicts(sweep, cell)] for cell in cells]
    selection = select(sweep, cells, metric, [verdict.failure for verdict in verdicts[0]], failure, options.worst)
    shown_stories = stories(sweep, cells, selection.rows, metric.metric, verdicts)
    names = [_name(sweep, cell) for cell in cells]
    lines = [
        _headline(selection, metric, names, options.failure),
        *_notes(sweep, cells[0], selection, metric),
    ]
    console = terminal.make_console()
    lines.append(_classes(verdicts[0]))
    for i, line in enumerate(lines):
        console.print(escape(line), style="dim" if i else "")
    show(console, shown_stories, names, metric.metric)
    if options.html:
        from analysis.samples.samples_page import render

        terminal.write_text(options.html, render(shown_stories, names, metric.metric, lines))
        console.print(f"\nHTML page: {escape(str(options.html))}")
    return 0


def _classes(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.failure or NO_FAILURE for verdict in verdicts)
    return f"classes of all samples: {', '.join(f'{name} {n:,}' for name, n in counts.most_common())}"


def _name(sweep: LoadedSweep, cell: CellResult) -> str:
    axes = results.describe(cell, sweep.axes())
    return f"{cell.cell_id[:8]} ({axes})" if axes else cell.cell_id[:8]


def _headline(selection: Selection, metric: SubsetMetric, names: list[str], failure: str) -> str:
    class_text = f" of class {failure}" if failure else ""
    order = f"where it loses most to {names[1]}" if len(names) > 1 else "worst first"
    if selection.are_equal:
        order = "which is the same for all of them"
    return f"{names[0]}: {len(selection.keys)} of {selection.n:,} samples{class_text}, by {metric}, {order}"


def _notes(sweep: LoadedSweep, cell: CellResult, selection: Selection, metric: SubsetMetric) -> list[str]:
    """Return notes on samples that the listing leaves out or sorts last, with the reasons."""
    lines = []
    answer_metrics = [name for name in sweep.headlines() if name in _OF_ANSWERS and name != metric.metric]
    if selection.are_equal and answer_metrics:
        lines.append(f"to see the worst answers first: --metric {answer_metrics[0]}")
    if selection.without_value:
        reasons = excluded_texts(dict(selection.without_value.most_common()))
        lines.append(f"sorted last, because they have no value: {', '.join(reasons)}")
    if cell.dataset.get("corpus") and find_corpus_texts(sweep, cell) is None:
        lines.append(
            "no excerpts, because the documents are no longer in the store. Run the sweep's command again: "
            "finished work is cached."
        )
    return lines
