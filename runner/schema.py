"""Print a JSON Schema of presets and configurations, for editors."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.schema")


import argparse
import json
from pathlib import Path

from components.errors import RagGridError
from runner.console.command_parser import CommandParser
from runner.console.display import print_error, say


def main(arguments: list[str] | None = None) -> int:
    """Print the schema. Return the exit code: 0, or 2 after one clear message."""
    options = _parser().parse_args(arguments)
    try:
        say(as_text(options.group, options.config_dir))
    except RagGridError as error:
        print_error(error)
        return 2
    return 0


def as_text(group: str = "", own_options: Path | None = None) -> str:
    """Return the schema as JSON, with a line for each class."""
    from runner.launch.config_schema import config_schema

    return json.dumps(config_schema(group, own_options), ensure_ascii=False, indent=1)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.schema",
        description=__doc__,
        example="python -m runner.schema chunk",
        page="docs/extending.md",
    )
    parser.add_argument(
        "group",
        nargs="?",
        default="",
        help="a group, e.g. chunk, for the schema of its options (default: presets and whole configurations)",
    )
    parser.add_argument(
        "--config-dir", type=Path, metavar="FOLDER", help="folder with your own options, as in python -m runner"
    )
    return parser
