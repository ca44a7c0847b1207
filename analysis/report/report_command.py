"""python -m analysis report: the recommended cell, the reasons, its cost and its failures, on one page."""

import argparse
from pathlib import Path

from analysis.report import report_markdown as markdown
from analysis.report import report_page as page
from analysis.report import report_record
from analysis.report.report_input import open_source
from analysis.table_output import make_console, make_folder, write_beside_results
from runner.console.command_parser import SWEEP

_FILES = {"report.html": "page:", "report.md": "text:", "report.json": "numbers:"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument(
        "--metric",
        default="",
        metavar="METRIC",
        help=(
            "metric by which to compare the cells, e.g. rouge_l or SUBSET:rouge_l (default: the metric that ranks the "
            "sweep)"
        ),
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder for the files (default: the sweep's folder)")


def run(options: argparse.Namespace) -> int:
    """Write `report.html`, `report.md` and `report.json`, and print the answer. Returns 0.

    Raises DataError if the sweep cannot be read or the folder cannot be written.
    """
    source = open_source(options.sweep, options.metric)
    folder = options.out or source.sweep.folder
    make_folder(folder, "--out")
    report = report_record.gather(source)
    write_beside_results(folder / "report.html", page.render(report))
    write_beside_results(folder / "report.md", markdown.render(report))
    write_beside_results(folder / "report.json", report_record.as_json(report))
    console = make_console()
    console.print(str(report.answer.sentence), markup=False)
    if source.names.base is None and len(source.names.axes) > 1:
        console.print(f"Cells are named by {source.names.rule}.", markup=False)
    if report.warnings:
        console.print(f"Read with care: {'. '.join(check.head for check in report.warnings)}.", markup=False)
    for name, what in _FILES.items():
        console.print(f"{what:<9} {folder / name}", markup=False)
    return 0
