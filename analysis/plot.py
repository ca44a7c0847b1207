"""python -m analysis plot: a metric over the levels of an axis, as a table and as a picture."""

import argparse
import re
from pathlib import Path

from rich.markup import escape

from analysis import table_output as terminal
from analysis.charts.canvas import tick_label
from analysis.charts.line_plot import LinePoint, PlotLine, line_plot
from analysis.decision.axis_means import AxisMeans, axis_means
from analysis.table_output import TableColumn
from runner import results
from runner.console.command_parser import METRIC, SWEEP
from runner.console.styled_text import count
from runner.results import groups_note


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", nargs="+", help=f"{SWEEP}; cells of several sweeps are drawn together")
    parser.add_argument("--metric", default="", metavar="METRIC", help=METRIC)
    parser.add_argument(
        "--axis", required=True, metavar="AXIS", help="axis of the sweep to draw along x, e.g. chunk.size"
    )
    parser.add_argument(
        "--by", default="", metavar="AXIS", help=("axis of the sweep that gets one line per level, e.g. retriever")
    )
    parser.add_argument(
        "--out",
        "--output",
        type=Path,
        metavar="FILE.svg",
        help=("write the picture to this file (default: plot_... in the sweep's folder)"),
    )
    terminal.add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the means and write the picture. Returns 0.

    Raises DataError if the axis does not vary, or if no two of its levels can be compared.
    """
    sweep = results.load_together(options.sweep)
    averages = axis_means(sweep, options.metric or sweep.headline_metric(), options.axis, options.by)
    digits = terminal.n_digits(row.mean for row in averages.means)
    console = terminal.make_console(options.format)
    terminal.show_table(console, _title(averages), _columns(averages, digits))
    for note in filter(None, [*_notes(averages), groups_note(sweep.cells)]):
        console.print(f"[dim]{escape(note)}[/]")
    output = options.out or sweep.folder / _file_name(averages)
    write = terminal.write_text if options.out else terminal.write_beside_results
    write(output, plot(averages))
    console.print(f"picture: {escape(str(output))}")
    return 0


def plot(averages: AxisMeans) -> str:
    """Return an SVG with a line for each level of the second axis."""
    groups: dict[str, list[LinePoint]] = {}
    for row in averages.means:
        groups.setdefault(row.by, []).append(LinePoint(row.level, row.mean, row.low, row.high))
    lines = [PlotLine(f"{averages.by}={by}" if by else "", points) for by, points in groups.items()]
    return line_plot(lines, averages.axis, _title(averages), notes=_notes(averages))


def _title(averages: AxisMeans) -> str:
    direction = {True: " (larger is better)", False: " (smaller is better)", None: ""}
    return f"{averages.metric}{direction[averages.metric.larger_is_better]}"


def _columns(averages: AxisMeans, digits: int) -> list[TableColumn]:
    levels = [row.level if isinstance(row.level, str) else tick_label(row.level) for row in averages.means]
    second = (
        [TableColumn(averages.by, [escape(row.by) for row in averages.means], is_number=False)] if averages.by else []
    )
    return [
        *second,
        TableColumn(averages.axis, list(map(escape, levels)), is_number=not isinstance(averages.means[0].level, str)),
        TableColumn("mean", [terminal.number(row.mean, digits) for row in averages.means]),
        TableColumn("95% interval", [terminal.interval(row.low, row.high, digits) for row in averages.means]),
    ]


def _notes(averages: AxisMeans) -> list[str]:
    """Describe the samples and combinations behind the means, and the limits of the intervals."""
    notes = [
        f"over the {averages.n} samples for which every cell has a value, in {averages.n_clusters} independent groups"
    ]
    if averages.other_axes:
        notes.append(
            f"averaged over the same {count(averages.n_combinations, 'combination')} of "
            f"{', '.join(averages.other_axes)} at every point"
        )
    if averages.apart:
        notes.append(f"left out, because they lack these: {', '.join(' '.join(corner) for corner in averages.apart)}")
    notes += averages.left_out
    return [*notes, "intervals are of each mean; `candidates` and `compare` test differences, on the same questions"]


def _file_name(averages: AxisMeans) -> str:
    name = "_".join(filter(None, ("plot", averages.metric.subset, averages.metric.metric, averages.axis, averages.by)))
    return re.sub(r"[^\w.@-]+", "_", name) + ".svg"
