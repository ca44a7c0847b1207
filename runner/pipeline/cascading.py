"""Rerankers one after another, and what each made of the hits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from components.json_value import Json
from components.protocols import AnyReranker, PlainReranker, RerankerCascade
from components.records import Documents, Hits, Queries, Spans
from runner.engine.run import Run
from runner.engine.stage import Stage
from runner.pipeline.data import Data
from runner.pipeline.list_reranking import RERANKER
from runner.pipeline.reranking import reranked_hits
from runner.pipeline.step_reports import StepReport

_SCORED_TYPE = pa.list_(
    pa.struct([("document_id", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("score", pa.float32())])
)


@dataclass(frozen=True)
class Reranking:
    """The stages of a cell's reranker: the ranking that later steps read, and by name that of every step. The only step
    of a reranker that is no cascade is called as the role is.
    """

    hits: Stage[Hits]
    steps: Mapping[str, Stage[Hits]]
    depths: Mapping[str, int]


def reranking(
    reranker: AnyReranker, data: Data, chunks: Stage[Spans], queries: Stage[Queries], hits: Stage[Hits], n_hits: int
) -> Reranking:
    """All steps; `queries` hold one text per sample, and there are at most `n_hits` for each."""
    named: dict[str, PlainReranker] = {}
    if isinstance(reranker, RerankerCascade):
        named = {f"{RERANKER}/{name}": step for name, step in reranker.steps.items()}
    else:
        named[RERANKER] = reranker
    steps: dict[str, Stage[Hits]] = {}
    for name, step in named.items():
        steps[name] = hits = reranked_hits(step, data, chunks, queries, hits, n_hits)
    return Reranking(hits, steps, {name: step.depth for name, step in named.items()})


@dataclass(frozen=True)
class CascadeReport(StepReport):
    """How many hits each step put in order, and how it scored them."""

    step: ClassVar[str] = "reranker"

    names: tuple[str, ...]
    depths: tuple[int, ...]
    hits: tuple[Stage[Hits], ...]
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def facts(self, run: Run) -> Mapping[str, Json]:
        """`n_pairs` by step."""
        return {"n_pairs": {name: int(np.count_nonzero(head.chunk >= 0)) for name, head in self._heads(run).items()}}

    def columns(self, run: Run) -> Mapping[str, pa.Array]:
        """`reranker/<step>`: the hits that it scored, best first. Places are in the texts that were searched: those of
        the refined corpus, where there is a refiner.
        """
        documents, chunks = run.read(self.corpus), run.read(self.chunks)
        return {name: _scored(head, documents, chunks) for name, head in self._heads(run).items()}

    def _heads(self, run: Run) -> dict[str, Hits]:
        heads = {}
        for name, depth, stage in zip(self.names, self.depths, self.hits, strict=True):
            hits = run.read(stage)
            heads[name] = Hits(hits.chunk[:, :depth], hits.score[:, :depth])
        return heads


def _scored(head: Hits, documents: Documents, chunks: Spans) -> pa.Array:
    rows = []
    for own, scores in zip(head.chunk.tolist(), head.score.tolist(), strict=True):
        found = [(chunk, score) for chunk, score in zip(own, scores, strict=True) if chunk >= 0]
        rows.append(
            [
                {
                    "document_id": documents.ids[chunks.document[chunk]],
                    "start": int(chunks.start[chunk]),
                    "end": int(chunks.end[chunk]),
                    "score": score,
                }
                for chunk, score in found
            ]
        )
    return pa.array(rows, _SCORED_TYPE)


def cascade_reports(reranked: Reranking, data: Data, chunks: Stage[Spans]) -> tuple[StepReport, ...]:
    """What the steps tell, if there are several."""
    if len(reranked.steps) < 2:
        return ()
    return (
        CascadeReport(
            tuple(reranked.steps), tuple(reranked.depths.values()), tuple(reranked.steps.values()), data.corpus, chunks
        ),
    )
