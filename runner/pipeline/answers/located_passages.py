"""The stage that finds the passages of a custom pipeline in the corpus."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.gold_places import SampleSpans
from components.pipelines.pipeline_reply import parse_stored_replies
from components.records import Answer, Documents
from components.text.passage_search import SoughtPassage, locate_passages
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run

Span = tuple[int, int, int]


@dataclass(frozen=True)
class PassagePositions:
    """Places of the passages of all samples in sequence, best first.

    `is_given` bool[n_samples] is False for a sample whose reply does not say which passages it used. The passages of
    sample i are rows `offsets[i]` to `offsets[i + 1]` of the other columns; `offsets` is int64[n_samples + 1].
    `document`, `start` and `end`, int32, are -1 for a passage that is not in the corpus. `is_exact` is False for a near
    copy.
    """

    is_given: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    document: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    is_exact: NDArray[np.bool_]

    def spans_by_sample(self) -> list[list[Span | None]]:
        """Return the span of each passage of each sample, None for a passage that is not in the corpus."""
        rows = zip(self.document.tolist(), self.start.tolist(), self.end.tolist(), strict=True)
        spans = [None if row[0] < 0 else row for row in rows]
        return [spans[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    @property
    def sample(self) -> NDArray[np.int64]:
        """The position of the sample of each passage."""
        return np.repeat(np.arange(len(self.is_given)), np.diff(self.offsets))

    @property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each passage among all passages of its sample, from 1."""
        return np.arange(len(self.document)) - self.offsets[self.sample] + 1

    def found(self) -> SampleSpans:
        """Return the passages that are in the corpus."""
        is_found = self.document >= 0
        columns = (self.sample, self.document, self.start, self.end)
        return SampleSpans(*(column[is_found].astype(np.int64) for column in columns))


class LocatedPassages(Stage[PassagePositions], kind="located_passages", version=1, work=Work.BENCHMARK):
    """The passages of a custom pipeline, located in the corpus."""

    codec = Columns(PassagePositions)

    corpus: Stage[Documents]
    replies: Stage[Sequence[Answer]]

    def make(self, run: Run) -> PassagePositions:
        """Search the corpus for each distinct passage."""
        by_sample = [reply.passages if reply else None for reply in parse_stored_replies(run.read(self.replies))]
        passages = [passage for sample_passages in by_sample for passage in sample_passages or ()]
        sought = [
            SoughtPassage(each.text, tuple(filter(None, (each.document_id, each.source))), each.start)
            for each in passages
        ]
        places = locate_passages(sought, run.read(self.corpus))
        rows = np.array([place[:3] if place else (-1, -1, -1) for place in places], np.int32).reshape(-1, 3)
        return PassagePositions(
            np.array([sample_passages is not None for sample_passages in by_sample], dtype=bool),
            np.cumsum([0, *(len(sample_passages or ()) for sample_passages in by_sample)], dtype=np.int64),
            np.ascontiguousarray(rows[:, 0]),
            np.ascontiguousarray(rows[:, 1]),
            np.ascontiguousarray(rows[:, 2]),
            np.array([bool(place and place.is_exact) for place in places], dtype=bool),
        )
