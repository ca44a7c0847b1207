"""Cascades of rerankers, and reports about each step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from components.json_value import Json
from components.records import Documents, Hits, Spans
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.step_reports import StepReport

_SCORED_TYPE = pa.list_(
    pa.struct([("document_id", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("score", pa.float32())])
)


@dataclass(frozen=True)
class RerankingStages:
    """The stages of a reranker.

    `hits` is the ranking that later steps read. `steps` and `depths` have the ranking and the depth of every step by
    name. The single step of a plain reranker has the name of the whole.
    """

    hits: Stage[Hits]
    steps: Mapping[str, Stage[Hits]]
    depths: Mapping[str, int]


@dataclass(frozen=True)
class CascadeReport(StepReport):
    """Number and scores of the hits that each step reranked."""

    step: ClassVar[str] = "reranker"

    names: tuple[str, ...]
    depths: tuple[int, ...]
    hits: tuple[Stage[Hits], ...]
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return `n_pairs`: the number of hits that each step scored, over all queries, by the name of the step."""
        return {"n_pairs": {name: int(np.count_nonzero(head.chunk >= 0)) for name, head in self._heads(run).items()}}

    def columns(self, run: Run) -> Mapping[str, pa.Array]:
        """Return `reranker/<step>`: the hits that the step scored, best first.

        Places are in the texts that were searched, which a refiner may have changed.
        """
        documents, chunks = run.read(self.corpus), run.read(self.chunks)
        return {name: _scored_column(head, documents, chunks) for name, head in self._heads(run).items()}

    def _heads(self, run: Run) -> dict[str, Hits]:
        heads = {}
        for name, depth, stage in zip(self.names, self.depths, self.hits, strict=True):
            hits = run.read(stage)
            heads[name] = Hits(hits.chunk[:, :depth], hits.score[:, :depth])
        return heads


def _scored_column(head: Hits, documents: Documents, chunks: Spans) -> pa.Array:
    rows = []
    for row_chunks, scores in zip(head.chunk.tolist(), head.score.tolist(), strict=True):
        hits = [(chunk, score) for chunk, score in zip(row_chunks, scores, strict=True) if chunk >= 0]
        rows.append(
            [
                {
                    "document_id": documents.ids[chunks.document[chunk]],
                    "start": int(chunks.start[chunk]),
                    "end": int(chunks.end[chunk]),
                    "score": score,
                }
                for chunk, score in hits
            ]
        )
    return pa.array(rows, _SCORED_TYPE)


def cascade_reports(
    reranked: RerankingStages, corpus: Stage[Documents], chunks: Stage[Spans]
) -> tuple[CascadeReport, ...]:
    """Return the report of a cascade; () for a single step."""
    if len(reranked.steps) < 2:
        return ()
    names, depths, hits = tuple(reranked.steps), tuple(reranked.depths.values()), tuple(reranked.steps.values())
    return (CascadeReport(names, depths, hits, corpus, chunks),)
