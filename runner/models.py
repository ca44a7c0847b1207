"""python -m runner.models check embedder=... reranker=... llm=...: tests models before a sweep depends on them."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.models")


import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from components.errors import ConfigError, RagGridError
from runner.console.command_parser import CommandParser, add_command
from runner.console.display import make_console, print_error

if TYPE_CHECKING:
    from runner.launch.model_trial import Trial
    from runner.pipeline.cell import Cell

_ROLES = ("retriever", "embedder", "expander", "reranker", "llm", "judge", "metrics")
_EXAMPLE = "python -m runner.models check embedder=bge-m3 llm=ollama"
_PAGE = "docs/models.md"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code.

    0 if every model can be used, 1 if one cannot, 2 after one clear message if the command is invalid.
    """
    options = _parser().parse_args(arguments)
    from runner.launch.compose import compose_config  # --help needs none of these imports
    from runner.launch.model_trial import try_model
    from runner.pipeline.building import build_cell

    try:
        models = dict(_models(build_cell(compose_config(options.overrides))))
        if not models:
            raise ConfigError(
                "overrides: no chosen component has a model. Choose one, e.g. embedder=sentence_transformers."
            )
    except RagGridError as error:
        print_error(error)
        return 2
    console = make_console()
    trials = []
    for component, role in models.items():
        trials.append(try_model(component, download=options.download))
        _show(console, role, trials[-1])
    return int(any(trial.problem for trial in trials))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.models",
        description="Test models before a sweep depends on them.",
        example=_EXAMPLE,
        page=_PAGE,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    purpose = "check that models exist, load and reply, and report their sizes; exit code 1 if one cannot be used"
    check = add_command(commands, "check", purpose, example=_EXAMPLE, page=_PAGE)
    check.add_argument(
        "overrides", nargs="+", help="overrides, as in python -m runner, e.g. embedder=bge-m3 llm=openai"
    )
    check.add_argument("--download", action="store_true", help="fetch models that are not on this machine")
    return parser


def _models(cell: "Cell") -> Iterator[tuple[object, str]]:
    """Yield each component that has a model, with its role. Equal components may occur in several roles."""
    from runner.engine.identity import walk_components

    for role in _ROLES:
        yield from ((part, role) for part in walk_components(getattr(cell, role)) if getattr(part, "model", ""))


def _show(console: Console, role: str, trial: "Trial") -> None:
    console.print(f"[bold]{role}[/] {escape(trial.model)}")
    for name, text in trial.lines:
        console.print(f"  {name:<12}{escape(text)}")
    if trial.problem:
        console.print(f"  [red]{'error':<12}[/]{escape(trial.problem)}")
