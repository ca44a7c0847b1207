"""Samples as a self-contained HTML page, without network or JavaScript."""

from collections.abc import Sequence
from pathlib import Path

from analysis.html import page_environment
from analysis.samples import sample_wording
from analysis.samples.story import Story

_TEMPLATES = Path(__file__).parent / "templates"


def render(stories: Sequence[Story], names: Sequence[str], metric: str, lines: Sequence[str]) -> str:
    """Return the HTML of the page. `names` are the names of the cells, and `lines` describe the selection.

    All texts are escaped.
    """
    environment = page_environment(_TEMPLATES)
    environment.globals |= {"words": sample_wording}
    template = environment.get_template("samples.html.j2")
    return template.render(stories=stories, names=names, metric=metric, lines=lines)
