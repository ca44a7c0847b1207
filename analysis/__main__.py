"""python -m analysis candidates | compare | effects | ...: tables and tests from results of sweeps."""

if __name__ == "__main__":  # before the slow imports, which Ctrl-C may interrupt, too
    from runner.console.interruptible import run_main

    run_main("analysis.__main__")


import sys
from importlib import import_module
from typing import NamedTuple

from components.errors import RagGridError
from runner.console.command_parser import CommandParser, add_command
from runner.console.display import print_error


class Command(NamedTuple):
    """A command: the module with `add_arguments(parser)` and `run(options) -> int`, and the words of its help.

    `example` follows the command's name. `page` is the page of the documentation.
    """

    module: str
    purpose: str
    example: str
    page: str


COMMANDS = {
    "baseline": Command(
        "analysis.baseline",
        "save the scores of a cell as a small baseline file for `gate`",
        "latest best --metric rouge_l --out baseline.json",
        "docs/gate.md",
    ),
    "candidates": Command(
        "analysis.candidates",
        "show the cells that may be the best, for each subset, topic and task",
        "latest --metric ndcg@10",
        "docs/decisions.md",
    ),
    "compare": Command(
        "analysis.compare",
        "show the cells that differ from the best one, or from a baseline, and by how much",
        "latest --metric rouge_l --baseline retriever=bm25",
        "docs/comparing.md",
    ),
    "effects": Command(
        "analysis.effects",
        "show how much each axis affects a metric",
        "latest --metric rouge_l",
        "docs/comparing.md",
    ),
    "gate": Command(
        "analysis.gate",
        "check whether a cell is worse than a baseline, for continuous integration; "
        "exit code 0: passed, 1: worse, 2: unusable input, 3: cannot tell",
        "latest --baseline baseline.json --margin 0.01",
        "docs/gate.md",
    ),
    "notebooks": Command(
        "analysis.notebook_files",
        "write six notebooks to work through with your sweep or a demo",
        "latest --out notebooks",
        "docs/results.md",
    ),
    "pareto": Command(
        "analysis.pareto",
        "show the Pareto front of quality and cost: the cells that no other cell dominates",
        "latest --metric ndcg@10 --against seconds",
        "docs/comparing.md",
    ),
    "plot": Command(
        "analysis.plot",
        "draw a chart of a metric over the levels of an axis",
        "latest --metric rouge_l --axis chunk.size --by retriever",
        "docs/comparing.md",
    ),
    "repeats": Command(
        "analysis.repeats",
        "show how much of a metric's noise comes from samples, answers and judge",
        "latest --metric accuracy",
        "docs/comparing.md",
    ),
    "report": Command(
        "analysis.report.report_command",
        "write a page that says which cell to take, why, what it costs and where it fails",
        "latest",
        "docs/report.md",
    ),
    "samples": Command(
        "analysis.samples.samples_command",
        "show samples of a cell: question, answer, and where the evidence was",
        "latest best --worst 3",
        "docs/forensics.md",
    ),
    "table": Command(
        "analysis.table",
        "show a published table next to the matching cells of a sweep",
        "crud_rag/3 latest",
        "docs/published.md",
    ),
    "testset": Command(
        "analysis.testset.drafts_command",
        "show the drafts of a generated test set: accepted and rejected, with the reasons",
        "my_set --state rejected",
        "docs/generation.md",
    ),
    "watch": Command(
        "analysis.watch.watch_command",
        "show the progress of a running sweep, in the terminal or on a page",
        "latest --serve",
        "docs/watching.md",
    ),
}

_COMMAND = "python -m analysis"
_WITHOUT_METRICS = ("notebooks", "testset", "watch")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code, 2 if results are missing or unusable."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = CommandParser(
        prog=_COMMAND,
        description="Tables, tests and pages from results of sweeps. SWEEP is a folder, an id in results/, or latest. "
        "CELL is an id, values of its axes such as retriever=bm25,top_k=2, best, or best:METRIC.",
        example=f"{_COMMAND} report latest",
        page="docs/results.md",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        example = f"{_COMMAND} {name} {command.example}"
        added = add_command(commands, name, command.purpose, example=example, page=command.page)
        if name in arguments[:1]:
            import_module(command.module).add_arguments(added)
            if name not in _WITHOUT_METRICS:
                from runner.results import add_option

                add_option(added)
    options = parser.parse_args(arguments)
    try:
        code: int = import_module(COMMANDS[options.command].module).run(options)
    except RagGridError as error:
        print_error(error)
        return 2
    return code
