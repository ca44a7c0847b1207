"""Samples as an HTML page of its own, which needs no other file, no network and no JavaScript."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.samples import words
from analysis.samples.story import Story
from runner.display import printable

_TEMPLATES = Path(__file__).parent / "templates"


def render(told: Sequence[Story], names: Sequence[str], metric: str, lines: Sequence[str]) -> str:
    """HTML of the page; `names` are those of the cells, `lines` say what is shown. All texts are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.globals |= {"words": words}
    template = environment.get_template("samples.html.j2")
    return template.render(told=told, names=names, metric=metric, lines=lines)


def _finalize(value: Any) -> Any:
    """Control characters, and those that turn the direction of writing round, are shown as Python writes them."""
    return printable(value) if type(value) is str else value
