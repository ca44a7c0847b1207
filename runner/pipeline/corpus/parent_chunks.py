"""Stages that search small chunks, and read the larger chunks that contain them."""

import numpy as np
from numpy.typing import NDArray

from components.protocols import Chunker
from components.records import Documents, Hits, Segments, Spans, SpanTexts
from components.text.corpus_tables import cut_segments
from components.text.ranking import empty_hits
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.checked_spans import validate_spans


class ChildChunks(Stage[Spans], kind="child_chunks", version=1):
    """Chunks of every parent, chunked as if it were a document. Text that two parents share is chunked once."""

    codec = Columns(Spans)

    chunker: Chunker
    corpus: Stage[Documents]
    segments: Stage[Segments]
    parents: Stage[Spans]

    def make(self, run: Run) -> Spans:
        """Cut the parents along the segments of their documents.

        Raises ComponentError for chunks that break the contract.
        """
        documents, parents = run.read(self.corpus), run.read(self.parents)
        texts = SpanTexts(documents.texts, parents)
        ids = [
            f"{documents.ids[document]}:{start}"
            for document, start in zip(parents.document, parents.start, strict=True)
        ]
        children = self.chunker.chunk(
            Documents(ids, [""] * len(ids), texts), cut_segments(run.read(self.segments), parents)
        )
        children = validate_spans(children, parents.end - parents.start, self.chunker)
        shift = parents.start[children.document]
        rows = np.stack([parents.document[children.document], children.start + shift, children.end + shift], axis=1)
        document, start, end = np.unique(rows, axis=0).astype(np.int32).reshape(-1, 3).T
        return Spans(np.ascontiguousarray(document), np.ascontiguousarray(start), np.ascontiguousarray(end))


class ParentHits(Stage[Hits], kind="parent_hits", version=1, work=Work.PER_QUERY):
    """The parents of the hits, each at the place and with the score of its best child.

    A child of two overlapping parents belongs to the first.
    """

    codec = Columns(Hits)

    hits: Stage[Hits]
    children: Stage[Spans]
    parents: Stage[Spans]

    def make(self, run: Run) -> Hits:
        """Replace children by their parents."""
        hits = run.read(self.hits)
        parent_of = np.append(find_parents(run.read(self.children), run.read(self.parents)), -1)
        parents = parent_of[hits.chunk]  # -1 indexes the last entry
        parent_hits = empty_hits(*parents.shape)
        for row, row_parents in enumerate(parents):
            _, best = np.unique(row_parents[row_parents >= 0], return_index=True)
            best.sort()
            parent_hits.chunk[row, : len(best)] = row_parents[best]
            parent_hits.score[row, : len(best)] = hits.score[row, best]
        return parent_hits


def find_parents(children: Spans, parents: Spans) -> NDArray[np.int32]:
    """Return the first parent that contains each child, int32[n_children].

    No parent contains another, so that their ends are sorted.
    """
    longest = int(parents.end.max(initial=0)) + 1
    ends = parents.document.astype(np.int64) * longest + parents.end
    return np.searchsorted(ends, children.document.astype(np.int64) * longest + children.end).astype(np.int32)
