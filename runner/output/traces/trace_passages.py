"""Hits of a sample as documents, in the form in which MLflow shows them."""

from collections.abc import Mapping
from typing import Any

from components.json_value import Json
from runner.output.traces.trace_texts import shown
from runner.results.hit_texts import CorpusTexts

_FEWEST = 10
"""Hits that are told in any case; beyond these, those down to the last that is in the context."""

_NO_TEXT = "(the document's text is not kept)"


def passages(row: Mapping[str, Json], corpus: CorpusTexts | None, rank: str = "") -> list[dict[str, Any]]:
    """The first hits, as `{page_content, id, metadata}`; in the order of the field `rank` of hits, if one is named: []
    for results that do not have it. Without a corpus they are told by their places.
    """
    hits = row["retrieved"]
    if rank:
        hits = sorted((hit for hit in hits if hit.get(rank) is not None), key=lambda hit: int(hit[rank]))
    last = max((number for number, hit in enumerate(hits, 1) if hit["in_context"]), default=0)
    return [_passage(number, hit, corpus) for number, hit in enumerate(hits[: max(_FEWEST, last)], 1)]


def place(unit: Mapping[str, Json]) -> str:
    """Where a hit or a gold unit is, e.g. "news-17[120:340]"; a whole document is its id."""
    document_id: str = unit["document_id"]
    return document_id if unit["start"] is None else f"{document_id}[{unit['start']}:{unit['end']}]"


def _passage(number: int, hit: Mapping[str, Json], corpus: CorpusTexts | None) -> dict[str, Any]:
    text = corpus.text(hit["document_id"], hit["start"], hit["end"]) if corpus else _NO_TEXT
    where = shown(place(hit))
    metadata = {  # the first are seen at once
        "gold": hit.get("gold_grade") is not None,
        "in_context": hit["in_context"],
        "rank": number,
        "score": hit["score"],
        "doc_uri": where,
    }
    return {"page_content": shown(text), "id": where, "metadata": metadata}
