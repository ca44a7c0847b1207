"""Common parts of HTML pages, which need no other file and escape all data."""

from pathlib import Path
from typing import TYPE_CHECKING

from runner.console.display import escape_control

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(*templates: Path) -> "Environment":
    """Return the environment of templates in these folders, the first folders first.

    It escapes texts, and raises an error for undefined names.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def _finalize(value: object) -> object:
    """Show control characters and marks of writing direction in Python's notation."""
    return escape_control(value) if type(value) is str else value  # Markup, a subclass of str, is our own text
