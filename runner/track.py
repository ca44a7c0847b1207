"""python -m runner.track SWEEP_FOLDER: logs a sweep to MLflow from its results files."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.track")


import argparse
import contextlib

from components.errors import DataError
from runner.console.command_parser import SWEEP, CommandParser, tracking_uri
from runner.console.display import print_error, say
from runner.console.styled_text import count
from runner.engine.plugins.trusted_packages import add_option


def main(arguments: list[str] | None = None) -> int:
    """Log the sweep, except cells that were logged before. Return the exit code."""
    parser = CommandParser(
        prog="python -m runner.track",
        description="Log a finished sweep to MLflow.",
        example="python -m runner.track latest --traces 100",
        page="docs/mlflow.md",
    )
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument(
        "--uri",
        type=tracking_uri,
        default="",
        metavar="URI",
        help="tracking URI (default: mlflow.db in the folder that holds the results)",
    )
    parser.add_argument(
        "--traces",
        type=_n_traces,
        default=0,
        metavar="N",
        help=(
            "number of samples to log as traces, e.g. 100, or all. Covers the cell to take, the first cell and up to "
            "two others that may be as good (default: none)"
        ),
    )
    parser.add_argument(
        "--subsets",
        choices=["headline", "all"],
        default="headline",
        help="metrics to log for subsets, tasks and topics: the first five of the leaderboard (headline), or "
        "all, including topic x task (default: %(default)s)",
    )
    add_option(parser)
    options = parser.parse_args(arguments)
    from runner import results  # --help needs none of these imports
    from runner.output.logging_process import error_line
    from runner.output.mlflow_runs import Tracker
    from runner.output.tracking import default_uri, samples_line, where_to_look, wrong_file

    try:
        folder = results.find_sweep(options.sweep)
        sweep = results.read_sweep(folder)
        cells = list(results.cell_folders(folder))
    except DataError as error:
        print_error(error)
        return 2
    uri = options.uri or default_uri(folder.resolve().parent)
    if wrong := wrong_file(uri):
        print_error(f"--uri: {wrong}")
        return 2
    try:
        tracker = Tracker(uri, sweep.name, folder, every=options.subsets == "all")
        tracker.log_cells(cells)
        pages, traced = tracker.finish(options.traces)
    except Exception as error:  # noqa: BLE001 - MLflow may raise anything
        print_error(f"{uri}: could not log the sweep: {error_line(error)}")
        return 2
    say(f"logged {count(len(cells), 'cell')}\nMLflow:   {where_to_look(uri, pages.cells)}")
    if options.traces != 0:
        say(samples_line(pages.samples, str(traced)))
    return 0


def _n_traces(text: str) -> int | None:
    from runner.output.logging_process import parse_n_traces

    with contextlib.suppress(ValueError):
        n = parse_n_traces(text)
        if n is None or n >= 0:
            return n
    raise argparse.ArgumentTypeError(f"got {text!r}, expected a number of samples, e.g. 100, or all")
