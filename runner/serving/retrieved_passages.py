"""The passages that a pipeline found for one question, with their places in the documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from components.json_value import Json
from components.records import ChunkOrigins, Documents, Spans, SpanTexts
from runner.engine.stage_run import Run
from runner.serving.graph import Found


@dataclass(frozen=True)
class Passage:
    """A text as the model reads it, with its place.

    `start` and `end` are character offsets in the document as loaded, None for a text that a refiner wrote completely.
    `score` is the score of its best hit, None for a passage that is read only because it is next to a hit. `metadata`
    has the metadata of the document, and facts about the place, such as its section.
    """

    document_id: str
    title: str
    text: str
    start: int | None
    end: int | None
    score: float | None
    metadata: Mapping[str, str] = field(default_factory=dict)


def sweep_hits(found: Found, run: Run) -> list[dict[str, Json]]:
    """Return all hits as in the samples table of a sweep: place in the original document, score, and whether they are
    in the context.
    """
    documents, chunks = run.read(found.corpus), run.read(found.chunks)
    hits, in_context = run.read(found.hits), set(run.read(found.context).chunk[0].tolist())
    return [
        {
            "document_id": documents.ids[chunks.document[chunk]],
            "start": int(chunks.start[chunk]),
            "end": int(chunks.end[chunk]),
            "score": score,
            "in_context": chunk in in_context,
        }
        for chunk, score in zip(hits.chunk[0].tolist(), hits.score[0].tolist(), strict=True)
        if chunk >= 0
    ]


def found_passages(found: Found, run: Run, n: int) -> tuple[Passage, ...]:
    """Return the `n` best hits as passages."""
    ranking = run.read(found.ranking)
    hits = [(chunk, score) for chunk, score in zip(ranking.chunk[0].tolist(), ranking.score[0].tolist(), strict=True)]
    passages = _Passages(found, run)
    return tuple(passages.of((chunk,), score) for chunk, score in hits[:n] if chunk >= 0)


def prompt_passages(found: Found, run: Run) -> tuple[Passage, ...]:
    """Return the passages of the prompt, in its order."""
    ranking = run.read(found.ranking)
    score = dict(zip(ranking.chunk[0].tolist(), ranking.score[0].tolist(), strict=True))
    texts, places = (
        SpanTexts(run.read(found.read.corpus).texts, run.read(found.read.chunks)),
        run.read(found.read_chunks),
    )
    passages = _Passages(found, run)
    (own,) = found.read.chunks_of(run)
    shown = []
    for chunks in own:
        hits = found.read.hits_of(run, chunks)
        best = max((score[hit] for hit in hits if hit in score), default=None)
        shown.append(passages.of(hits, best, found.read.text_of(texts, chunks), _range(places, chunks)))
    return tuple(shown)


class _Passages:
    def __init__(self, found: Found, run: Run) -> None:
        self._documents: Documents = run.read(found.read.corpus)
        self._texts = SpanTexts(self._documents.texts, run.read(found.hit_chunks))
        self._facts = next((run.read(stage) for stage in found.read.facts), None)
        self._places = run.read(found.chunks)

    def of(
        self,
        chunks: Sequence[int],
        score: float | None,
        text: str | None = None,
        place: tuple[int | None, int | None] | None = None,
    ) -> Passage:
        """Return the passage of chunks, or a part of it with its own `text` and `place`."""
        document = int(self._texts.spans.document[chunks[0]])
        metadata = self._documents.metadata[document] if self._documents.metadata else {}
        facts = self._facts[chunks[0]] if self._facts else {}
        return Passage(
            self._documents.ids[document],
            self._documents.titles[document],
            self._texts.joined(chunks) if text is None else text,
            *(place or _range(self._places, chunks)),
            score,
            {**metadata, **facts},
        )


def _range(places: Spans, chunks: Sequence[int]) -> tuple[int | None, int | None]:
    """Return the places of the first and the last character of chunks in their document."""
    rows = np.flatnonzero(np.isin(places.chunk, chunks)) if isinstance(places, ChunkOrigins) else np.array(chunks)
    own = rows[places.end[rows] > places.start[rows]]
    return (int(places.start[own].min()), int(places.end[own].max())) if len(own) else (None, None)
