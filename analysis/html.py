"""What pages have in common: they need no other file, and of what is data nothing is markup."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.console.display import printable

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(templates: Path) -> "Environment":
    """Of the templates in a folder: texts are escaped, and a name that is not there is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def _finalize(value: Any) -> Any:
    """Control characters, and those that turn the direction of writing round, are shown as Python writes them."""
    return printable(value) if type(value) is str else value  # Markup, a subclass, is ours
