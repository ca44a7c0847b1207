"""The passages that a pipeline found for one question, with their positions in the documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from components.json_value import Json
from components.records import ChunkOrigins, Documents, Spans, SpanTexts
from runner.engine.stage_run import Run
from runner.serving.served_graph import SearchStages


@dataclass(frozen=True)
class Passage:
    """A text as the model reads it, with its position in the document.

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


def sweep_hits(search: SearchStages, run: Run) -> list[dict[str, Json]]:
    """Return all hits as in the samples table of a sweep: place in the original document, score, and whether they are
    in the context.
    """
    documents, chunks = run.read(search.corpus), run.read(search.chunks)
    hits, in_context = run.read(search.hits), set(run.read(search.context).chunk[0].tolist())
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


def best_passages(search: SearchStages, run: Run, n: int) -> tuple[Passage, ...]:
    """Return the `n` best hits as passages."""
    ranking = run.read(search.ranking)
    hits = [(chunk, score) for chunk, score in zip(ranking.chunk[0].tolist(), ranking.score[0].tolist(), strict=True)]
    passages = _Passages(search, run)
    return tuple(passages.passage((chunk,), score) for chunk, score in hits[:n] if chunk >= 0)


def prompt_passages(search: SearchStages, run: Run) -> tuple[Passage, ...]:
    """Return the passages of the prompt, in its order."""
    ranking = run.read(search.ranking)
    score = dict(zip(ranking.chunk[0].tolist(), ranking.score[0].tolist(), strict=True))
    texts, spans = (
        SpanTexts(run.read(search.read.corpus).texts, run.read(search.read.chunks)),
        run.read(search.read_chunks),
    )
    passages = _Passages(search, run)
    (chunk_groups,) = search.read.chunks_of(run)
    prompt = []
    for chunks in chunk_groups:
        hits = search.read.hits_of(run, chunks)
        best = max((score[hit] for hit in hits if hit in score), default=None)
        prompt.append(passages.passage(hits, best, search.read.text_of(texts, chunks), _range(spans, chunks)))
    return tuple(prompt)


class _Passages:
    def __init__(self, search: SearchStages, run: Run) -> None:
        self._documents: Documents = run.read(search.read.corpus)
        self._texts = SpanTexts(self._documents.texts, run.read(search.hit_chunks))
        self._facts = next((run.read(stage) for stage in search.read.facts), None)
        self._places = run.read(search.chunks)

    def passage(
        self,
        chunks: Sequence[int],
        score: float | None,
        text: str | None = None,
        span: tuple[int | None, int | None] | None = None,
    ) -> Passage:
        """Return the passage of chunks, or a part of it with its own `text` and `span`."""
        document = int(self._texts.spans.document[chunks[0]])
        metadata = self._documents.metadata[document] if self._documents.metadata else {}
        facts = self._facts[chunks[0]] if self._facts else {}
        return Passage(
            self._documents.ids[document],
            self._documents.titles[document],
            self._texts.join_spans(chunks) if text is None else text,
            *(span or _range(self._places, chunks)),
            score,
            {**metadata, **facts},
        )


def _range(spans: Spans, chunks: Sequence[int]) -> tuple[int | None, int | None]:
    """Return the start and end of chunks in their document."""
    rows = np.flatnonzero(np.isin(spans.chunk, chunks)) if isinstance(spans, ChunkOrigins) else np.array(chunks)
    nonempty = rows[spans.end[rows] > spans.start[rows]]
    return (int(spans.start[nonempty].min()), int(spans.end[nonempty].max())) if len(nonempty) else (None, None)
