"""Hits of a sample as documents, in the form in which MLflow shows them."""

from collections.abc import Iterable, Mapping
from typing import Any

from components.json_value import Json
from runner.output.traces.texts import DocumentText, shown

_FEWEST = 10
"""Hits that are told in any case; beyond these, those down to the last that is in the context."""

_NO_TEXT = "(the document's text is not kept)"


def passages(row: Mapping[str, Json], documents: Mapping[str, DocumentText], rank: str = "") -> list[dict[str, Any]]:
    """The first hits, as `{page_content, id, metadata}`; in the order of the field `rank` of hits, if one is named: []
    for results that do not have it.
    """
    hits = list(enumerate(row["retrieved"], 1))
    if rank:
        hits = sorted(((hit[rank], hit) for _, hit in hits if hit.get(rank) is not None), key=lambda pair: pair[0])
    last = max((n for n, (_, hit) in enumerate(hits, 1) if hit["in_context"]), default=0)
    return [_passage(number, hit, row["gold"], documents) for number, hit in hits[: max(_FEWEST, last)]]


def place(unit: Mapping[str, Json]) -> str:
    """Where a hit or a gold unit is, e.g. "news-17[120:340]"; a whole document is its id."""
    return unit["document_id"] if unit["start"] is None else f"{unit['document_id']}[{unit['start']}:{unit['end']}]"


def _passage(
    number: int, hit: Mapping[str, Json], gold: Iterable[Mapping[str, Json]], documents: Mapping[str, DocumentText]
) -> dict[str, Any]:
    document = documents.get(hit["document_id"])
    text = document.text[hit["start"] : hit["end"]] if document else _NO_TEXT
    title = {"title": shown(document.title)} if document and document.title else {}
    grades = [unit["grade"] for unit in gold if _overlaps(hit, unit)]
    metadata = {
        "doc_uri": shown(place(hit)),
        **title,
        "rank": number,
        "score": hit["score"],
        "gold": bool(grades),
        "in_context": hit["in_context"],
    }
    return {"page_content": shown(text), "id": shown(place(hit)), "metadata": metadata}


def _overlaps(hit: Mapping[str, Json], unit: Mapping[str, Json]) -> bool:
    """Whether any character of the hit is gold."""
    if hit["document_id"] != unit["document_id"]:
        return False
    return unit["start"] is None or (hit["start"] < unit["end"] and unit["start"] < hit["end"])
