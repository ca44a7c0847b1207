"""Stages that remove redundancy among the first hits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.json_value import Json
from components.protocols import Diversity, TextDiversity, VectorDiversity
from components.records import Hits, Spans
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.chunk_vectors import Vectors, embed_all_blocks
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.step_reports import LINE, StepReport
from runner.pipeline.corpus.text_passages import ChunkPassages, build_corpus_terms
from runner.pipeline.search.checked_hits import validate_hits


class DiverseHits(Stage[Hits], kind="diverse_hits", version=1, work=Work.PER_QUERY):
    """The hits after a comparison of their texts."""

    codec = Columns(Hits)

    diversity: TextDiversity
    hits: Stage[Hits]
    chunks: ChunkPassages

    def make(self, run: Run) -> Hits:
        """Compare the hits. Raises ComponentError for hits that were not in the ranking."""
        hits = run.read(self.hits)
        return _check_hits(self.diversity, hits, self.diversity.diversify(hits, self.chunks.read(run)))


class DiverseHitsByVectors(Stage[Hits], kind="diverse_hits_by_vectors", version=1, work=Work.PER_QUERY):
    """The hits after a comparison of their vectors."""

    codec = Columns(Hits)

    diversity: VectorDiversity
    hits: Stage[Hits]
    vectors: Stage[Vectors]

    def make(self, run: Run) -> Hits:
        """Compare the hits. Raises ComponentError for hits that were not in the ranking."""
        hits = run.read(self.hits)
        return _check_hits(self.diversity, hits, self.diversity.diversify_vectors(hits, run.read(self.vectors)))


def _check_hits(diversity: object, before: Hits, after: Hits) -> Hits:
    """Raise ComponentError for a hit that was not found, or that occurs twice."""
    validate_hits(after, len(before), np.iinfo(np.int32).max, diversity, by_score=False)
    for row, (old, new) in enumerate(zip(before.chunk.tolist(), after.chunk.tolist(), strict=True)):
        hits = [chunk for chunk in new if chunk >= 0]
        if not set(hits) <= set(old):
            raise contract_error(
                diversity, f"query {row}: got the hits {hits} for {old}, expected some or all of them, each once"
            )
    return after


@dataclass(frozen=True)
class DiversityReport(StepReport):
    """Report of the number of hits that were left out."""

    step: ClassVar[str] = "diversity"

    before: Stage[Hits]
    after: Stage[Hits]

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return `n_hits`, `n_dropped` of them, and `n_samples_with_fewer`."""
        n_before, n_after = (np.count_nonzero(run.read(hits).chunk >= 0, axis=1) for hits in (self.before, self.after))
        n_hits, n_dropped = int(n_before.sum()), int((n_before - n_after).sum())
        facts = {
            "n_hits": n_hits,
            "n_dropped": n_dropped,
            "n_samples_with_fewer": int(np.count_nonzero(n_after < n_before)),
        }
        line = f"diversity: {n_dropped:,} of {n_hits:,} hits repeated a better hit, and were dropped"
        return facts | ({LINE: line} if n_dropped else {})


def build_diversity(diversity: Diversity, data: DatasetStages, chunks: Stage[Spans], hits: Stage[Hits]) -> Stage[Hits]:
    """Return the stage that diversifies `hits`, or `hits` itself for a depth of 0."""
    if not diversity.depth:
        return hits
    if isinstance(diversity, VectorDiversity):
        return DiverseHitsByVectors(diversity, hits, embed_all_blocks(diversity.embedder, data, chunks))
    terms = build_corpus_terms(diversity.tokenizer, data)
    return DiverseHits(diversity, hits, ChunkPassages(data.corpus, chunks, terms))


def diversity_reports(hits: Stage[Hits]) -> tuple[StepReport, ...]:
    """Return the report of the diversity step, if these hits are its result."""
    return (DiversityReport(hits.hits, hits),) if isinstance(hits, DiverseHits | DiverseHitsByVectors) else ()
