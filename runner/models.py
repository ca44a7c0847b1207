"""python -m runner.models check embedder=... reranker=... llm=...: tries models before a sweep depends on them."""

if __name__ == "__main__":  # before the imports, which take time and may be interrupted, too
    from runner.console.interruptible import run_main

    run_main("runner.models")


import argparse
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from components.errors import ConfigError, RagGridError
from runner.console.command_parser import CommandParser
from runner.console.display import make_console, say_error
from runner.engine.identity import parts_of
from runner.launch.compose import compose_config
from runner.launch.model_trial import Trial, try_model
from runner.pipeline.building import build_cell
from runner.pipeline.cell import Cell

_ROLES = ("embedder", "expander", "reranker", "llm", "judge", "metrics")


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0 if every model can be used, 1 if one cannot, 2 after a message for a command that makes
    no sense.
    """
    options = _parser().parse_args(arguments)
    try:
        models = dict(_models(build_cell(compose_config(options.overrides))))
        if not models:
            raise ConfigError("no component with a model is chosen; name one, e.g. embedder=sentence_transformers")
    except RagGridError as error:
        say_error(error)
        return 2
    console = make_console()
    trials = []
    for component, role in models.items():
        trials.append(try_model(component, download=options.download))
        _show(console, role, trials[-1])
    return int(any(trial.mistake for trial in trials))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="python -m runner.models", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="is it there, how large is it, does it load, what does it say")
    check.add_argument("overrides", nargs="+", help="as for python -m runner, e.g. embedder=bge-m3 llm=openai")
    check.add_argument("--download", action="store_true", help="fetch what is not on this machine")
    return parser


def _models(cell: Cell) -> Iterator[tuple[object, str]]:
    """The components that have a model, each once, with the role in which it was found last."""
    for role in _ROLES:
        yield from ((part, role) for part in parts_of(getattr(cell, role)) if getattr(part, "model", ""))


def _show(console: Console, role: str, trial: Trial) -> None:
    console.print(f"[bold]{role}[/] {escape(trial.model)}")
    for name, found in trial.lines:
        console.print(f"  {name:<12}{escape(found)}")
    if trial.mistake:
        console.print(f"  [red]{'mistake':<12}[/]{escape(trial.mistake)}")
