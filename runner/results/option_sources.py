"""The command that computes one cell of a sweep again."""

import argparse
import shlex

from runner.results.cell_result import CellResult

_SOURCES = (("--config-dir", "-cd"), ("--config-name", "-cn"), ("--config-path", "-cp"))
"""Hydra's flags that name where options come from. Without them, the overrides of a cell may not compose."""

_SEARCH_PATH = "hydra.searchpath"


def cell_command(cell: CellResult, sweep_command: str) -> str:
    """Return the command of one cell, which finds its options where the command of the sweep found them."""
    return shlex.join(["python", "-m", "runner", *_find_sources(sweep_command), *cell.overrides])


def _find_sources(command: str) -> list[str]:
    """Return the words of a command that name places of options: see `_SOURCES` and `_SEARCH_PATH`.

    The command comes from a file that anybody may have written. One that no shell would accept has no such words.
    """
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for flags in _SOURCES:
        parser.add_argument(*flags)
    try:
        given, others = parser.parse_known_args(shlex.split(command))
    except (ValueError, argparse.ArgumentError):
        return []
    places = [(long, getattr(given, long[2:].replace("-", "_"))) for long, _ in _SOURCES]
    return [
        *(word for flag, place in places if place is not None for word in (flag, place)),
        *(word for word in others if word.lstrip("+").startswith(f"{_SEARCH_PATH}=")),
    ]
