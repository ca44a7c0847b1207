"""python -m runner.control: pauses and resumes a running sweep, and stops cells of it."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.control")


import argparse
import shlex
from pathlib import Path

from components.errors import ConfigError, DataError, RagGridError
from runner.console.command_parser import SWEEP, CommandParser
from runner.console.display import make_console, print_error
from runner.results import find_sweep, read_sweep
from runner.results.cell_result import RUNNING, CellResult, SweepResult
from runner.results.live_sweep import KILLED, PAUSE, RESUME, STOP, add_request, read_live
from runner.results.loaded_sweep import describe, find_cell, shown_axes

_EFFECTS = {
    PAUSE: "No further stage will start. Running stages finish, and workers keep their models. To continue: "
    "python -m runner.control {sweep} resume",
    RESUME: "The sweep continues.",
    STOP: "Stages that only {cell} needs will not start. To run the cell later, run the sweep's command again.",
}


def main(arguments: list[str] | None = None) -> int:
    """Steer a sweep. Return the exit code: 0, or 2 after one clear message if that is not possible."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except RagGridError as error:
        print_error(error)
        return 2
    return 0


def _run(options: argparse.Namespace) -> None:
    if (options.action == STOP) != bool(options.cell):
        expected = "the cell to stop" if options.action == STOP else "no cell"
        raise ConfigError(f"{options.action}: got {options.cell or 'no cell'}, expected {expected}")
    folder = find_sweep(options.sweep)
    sweep = read_sweep(folder)
    _require_running(folder, sweep)
    cell = _cell(folder, sweep, options.cell) if options.cell else None
    add_request(folder, options.action, cell.cell_id if cell else "")
    named = describe(cell, shown_axes(_cells(sweep))) or cell.cell_id if cell else ""
    effect = _EFFECTS[options.action].format(sweep=shlex.quote(options.sweep), cell=named)
    make_console().print(f"Request recorded. The sweep reads it when a stage ends. {effect}", markup=False)


def _require_running(folder: Path, sweep: SweepResult) -> None:
    live = read_live(folder, sweep)
    if live.state == KILLED:
        raise DataError(f"{folder}: this sweep was killed. Run its command again: finished work is cached.")
    if live.state != RUNNING:
        raise DataError(f"{folder}: this sweep has ended ({live.state}); only a running sweep can be steered")
    if live.progress is None:
        raise DataError(
            f"{folder}: no running process reports the progress of this sweep. If the sweep has just begun, try again "
            "in a second. Sweeps with a launcher other than grid, such as hydra/launcher=joblib, cannot be steered."
        )


def _cell(folder: Path, sweep: SweepResult, text: str) -> CellResult:
    cell = find_cell(text, _cells(sweep))
    if (folder / cell.cell_id / "cell.json").exists():
        raise DataError(f"{text}: cell {cell.cell_id} has already ended")
    return cell


def _cells(sweep: SweepResult) -> list[CellResult]:
    """Return the cells of a sweep, with or without a result, to find one by its values."""
    return [CellResult(each["cell_id"], RUNNING, each.get("axes", {}), (), {}, {}) for each in sweep.cells]


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.control",
        description=(
            "Pause or resume a running sweep, or stop one of its cells. Results of other cells do not change."
        ),
        example="python -m runner.control latest stop retriever=bm25,top_k=2",
        page="docs/watching.md",
    )
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("action", choices=(PAUSE, RESUME, STOP), help="pause or resume the sweep, or stop a cell")
    parser.add_argument(
        "cell",
        nargs="?",
        metavar="ID_OR_VALUES",
        help="for stop: the cell, by its id or by values of its axes such as retriever=bm25,top_k=2",
    )
    return parser
