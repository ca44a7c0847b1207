"""Samples as an HTML page of its own, which needs no other file, no network and no JavaScript."""

from collections.abc import Sequence
from pathlib import Path

from analysis.html import page_environment
from analysis.samples import words
from analysis.samples.story import Story

_TEMPLATES = Path(__file__).parent / "templates"


def render(told: Sequence[Story], names: Sequence[str], metric: str, lines: Sequence[str]) -> str:
    """HTML of the page; `names` are those of the cells, `lines` say what is shown. All texts are escaped."""
    environment = page_environment(_TEMPLATES)
    environment.globals |= {"words": words}
    template = environment.get_template("samples.html.j2")
    return template.render(told=told, names=names, metric=metric, lines=lines)
