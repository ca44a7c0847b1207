"""Drafts as a self-contained HTML page, without network or JavaScript."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.html import page_environment
from analysis.samples import sample_wording
from analysis.testset.drafts_terminal import format_head
from analysis.testset.items import ACCEPTED, Item, ShownSet, counts_by_reason
from components.json_value import Json

_TEMPLATES = Path(__file__).parent / "templates"


def render(shown_set: ShownSet, items: Sequence[Item], lines: Sequence[str]) -> str:
    """Return the HTML of the page. `lines` describe the selection. All texts are escaped."""
    environment = page_environment(_TEMPLATES)
    environment.globals |= {
        "words": sample_wording,
        "format_head": format_head,
        "accepted": ACCEPTED,
        "counts_by_reason": counts_by_reason,
    }
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault((item.topic, item.task), []).append(item)
    template = environment.get_template("testset.html.j2")
    coverage = shown_set.testset.about.get("coverage", [])
    return template.render(
        groups=groups,
        lines=lines,
        coverage=coverage,
        matrix=_matrix(coverage),
        tasks=list(dict.fromkeys(cell["task"] for cell in coverage)),
        reasons=counts_by_reason(shown_set.items),
        key=shown_set.testset.key,
    )


def _matrix(coverage: Sequence[Mapping[str, Json]]) -> dict[str, dict[str, Mapping[str, Json]]]:
    """Return the coverage by topic, then by task."""
    rows: dict[str, dict[str, Mapping[str, Json]]] = {}
    for cell in coverage:
        rows.setdefault(cell["topic"], {})[cell["task"]] = cell
    return rows
