"""python -m analysis compare | effects | pareto | table"""

if __name__ == "__main__":  # before the slow imports, which Ctrl-C may interrupt, too
    from runner.console.interruptible import run_main

    run_main("analysis.__main__")


import sys
from importlib import import_module

from components.errors import RagGridError
from runner.console.command_parser import CommandParser
from runner.console.display import say_error
from runner.results import add_option

COMMANDS = {
    "best": ("analysis.best", "the cells that may be the best, for each subset, topic and task"),
    "compare": ("analysis.compare", "cells that differ from the best one, or from a baseline, and by how much"),
    "effects": ("analysis.effects", "how much each axis affects a metric"),
    "notebooks": ("analysis.notebook_files", "six notebooks to work through with your sweep or a demo"),
    "pareto": ("analysis.pareto", "cells that no other cell beats in both quality and cost"),
    "plot": ("analysis.plot", "a chart of a metric over the levels of an axis"),
    "repeats": ("analysis.repeats", "how much of a metric's noise comes from samples, answers and judge"),
    "report": (
        "analysis.report.report_command",
        "which cell to take, why, what it costs and where it fails, on one page",
    ),
    "samples": ("analysis.samples.samples_command", "samples of a cell: question, answer, and where the evidence was"),
    "testset": (
        "analysis.testset.drafts_command",
        "generated evaluation data: accepted and rejected drafts with the reasons",
    ),
    "table": ("analysis.table", "a published table next to the matching cells of a sweep"),
}
"""Commands: the module with `add_arguments(parser)` and `run(options) -> int`, and the purpose shown in the help."""

_WITHOUT_METRICS = ("notebooks", "testset")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code, 2 if results are missing or unusable."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = CommandParser(prog="python -m analysis", description="Tables and tests from results of sweeps.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (module, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=f"Shows {purpose}.")
        if name in arguments[:1]:
            import_module(module).add_arguments(command)
            if name not in _WITHOUT_METRICS:
                add_option(command)
    options = parser.parse_args(arguments)
    try:
        code: int = import_module(COMMANDS[options.command][0]).run(options)
    except RagGridError as error:
        say_error(error)
        return 2
    return code
