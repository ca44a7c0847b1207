"""Parser of our commands' arguments, and the words for arguments that many commands share."""

import argparse
import sys
from textwrap import wrap
from typing import Any, NoReturn

from components.secrets.configured_secrets import misplaced_in_value
from components.secrets.known import find_variable
from components.secrets.mask import current_mask, mask_text
from runner.console.documentation import docs_note

SWEEP = "a sweep: its folder, its id in results/, or latest"
CELL = "a cell: its id, values of its axes such as retriever=bm25,top_k=2, best, or best:METRIC"
METRIC = "e.g. ndcg@10 or SUBSET:ndcg@10 (default: the metric that ranks the sweep)"

_EXAMPLE_WIDTH = 74
"""Maximum number of columns of a line of the example. Longer examples are continued after a backslash."""


class _WholeWords(argparse.HelpFormatter):
    """Keeps names such as climate-fever on one line, so that they can be copied."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)


class CommandParser(argparse.ArgumentParser):
    """Parser whose help ends with a worked example and the page of the documentation.

    It rejects secrets of the environment in arguments, and hides other secrets in errors, which repeat arguments.
    Parsers of subcommands do so too.
    """

    def __init__(self, *, example: str, page: str, **options: Any) -> None:
        super().__init__(formatter_class=_WholeWords, **options)
        self._example = example
        self._page = page

    def format_help(self) -> str:
        """Return the help with the example and the page."""
        lines = wrap(self._example, _EXAMPLE_WIDTH, break_long_words=False, break_on_hyphens=False)
        example = " \\\n    ".join(lines)
        return f"{super().format_help()}\nexample:\n  {example}\n\nMore: {self._page}\n{docs_note()}"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, unless one contains a secret of the environment: output and files repeat arguments."""
        words = list(sys.argv[1:] if args is None else args)
        if holder := next((word for word in words if current_mask().holds_known(word)), ""):
            self.error(
                f"an argument contains the value of the environment variable {find_variable(holder)}, which looks like "
                "a secret. Output and files repeat arguments. Remove it, or, if it is not a secret, unset or rename "
                "the variable."
            )
        return super().parse_known_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        """Write the usage and the masked message to standard error, and exit with 2."""
        super().error(mask_text(message))


def add_command(
    commands: "argparse._SubParsersAction[CommandParser]", name: str, purpose: str, *, example: str, page: str
) -> CommandParser:
    """Add a subcommand. Its purpose is shown in the help of the command and in its own help."""
    description = f"{purpose[0].upper()}{purpose[1:]}."
    return commands.add_parser(name, help=purpose, description=description, example=example, page=page)


def tracking_uri(text: str) -> str:
    """Return an argument that is a tracking URI, unless it contains a password: output and results repeat it."""
    if problem := misplaced_in_value("uri", text):
        raise argparse.ArgumentTypeError(problem)
    return text
