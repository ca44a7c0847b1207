"""Formats the hits of a sample as MLflow's documents, and texts for its pages."""

from collections.abc import Mapping

from components.json_value import Json
from runner.console.display import escape_control
from runner.results.hit_texts import CorpusTexts

_MIN_HITS = 10
"""Hits in a trace, if it has as many. More follow up to the last hit that is in the context."""

_NO_TEXT = "(the document's text is not stored)"

_MAX_CHARACTERS = 10_000
"""Characters. Pages with longer texts are slow to open."""


def passages(row: Mapping[str, Json], corpus: CorpusTexts | None, rank: str = "") -> list[dict[str, Json]]:
    """Return the first hits as `{page_content, id, metadata}`. Without a corpus, they have no text.

    If `rank` names a field of hits, they are sorted by it, and hits without it are left out.
    """
    hits = row["retrieved"]
    if rank:
        hits = sorted((hit for hit in hits if hit.get(rank) is not None), key=lambda hit: int(hit[rank]))
    last = max((number for number, hit in enumerate(hits, 1) if hit["in_context"]), default=0)
    return [_passage(number, hit, corpus) for number, hit in enumerate(hits[: max(_MIN_HITS, last)], 1)]


def place(unit: Mapping[str, Json]) -> str:
    """Format the position of a hit or a gold unit: "news-17[120:340]", or the id of a whole document."""
    document_id: str = unit["document_id"]
    return document_id if unit["start"] is None else f"{document_id}[{unit['start']}:{unit['end']}]"


def page_text(text: str) -> str:
    """Return a text without characters that a page or a database would interpret. A long text is cut, with a note."""
    if len(text) <= _MAX_CHARACTERS:
        return escape_control(text)
    note = f"[cut: {_MAX_CHARACTERS:,} of {len(text):,} characters; all are in samples.parquet]"
    return f"{escape_control(text[:_MAX_CHARACTERS])}\n{note}"


def _passage(number: int, hit: Mapping[str, Json], corpus: CorpusTexts | None) -> dict[str, Json]:
    text = corpus.text(hit["document_id"], hit["start"], hit["end"]) if corpus else _NO_TEXT
    location = page_text(place(hit))
    metadata = {  # a page shows the first ones without a click
        "gold": hit.get("gold_grade") is not None,
        "in_context": hit["in_context"],
        "rank": number,
        "score": hit["score"],
        "doc_uri": location,
    }
    return {"page_content": page_text(text), "id": location, "metadata": metadata}
