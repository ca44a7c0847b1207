"""OmniEval's gold (nodes and passages of text) as evidence in documents, so that any chunking can be scored."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from components.records import Evidence


class LocatedGold(NamedTuple):
    """Distinct evidence, at least one unit per node, and the number of passages that occur in no node of the item."""

    units: tuple[Evidence, ...]
    n_passages_not_found: int


def locate_gold(node_ids: Sequence[str], passages: Sequence[str], texts: Mapping[str, str]) -> LocatedGold:
    """Return for each node the spans of the passages that occur in it, or the whole node if no passage does.

    `texts` maps the corpus's ids to texts; a node that is not in it is gold as a whole. A passage is searched for
    exactly first, then without regard to whitespace.
    """
    units: list[Evidence] = []
    located: set[str] = set()
    for node_id in node_ids:
        spans = {passage: span for passage in passages if (span := find_span(passage, texts.get(node_id, "")))}
        located.update(spans)
        units += [Evidence(node_id, *span) for span in spans.values()] or [Evidence(node_id)]
    return LocatedGold(tuple(dict.fromkeys(units)), len(set(passages) - located))


def find_span(passage: str, text: str) -> tuple[int, int] | None:
    """Return [start, end) of the first occurrence of a non-blank passage in a text, or None."""
    start = text.find(passage)
    if start >= 0:
        return start, start + len(passage)
    loose = re.compile(r"\s*".join(re.escape(character) for character in passage if not character.isspace()))
    match = loose.search(text)
    return match.span() if match else None
