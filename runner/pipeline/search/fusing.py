"""Stages that join the rankings of all arms and all variants of the query to one ranking per sample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.errors import ComponentError
from components.protocols import Fusion
from components.records import Hits, Queries
from components.text.ranking import empty_hits
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.search.checked_hits import min_chunk_count, validate_hits


@dataclass(frozen=True)
class Ranking(StageGroup):
    """The hits of one arm for one variant of the query, and their queries."""

    hits: Stage[Hits]
    queries: Stage[Queries]

    def by_sample(self, run: Run) -> list[Hits]:
        """Return rankings with a row per sample, one for each query of the sample with the most queries.

        Samples with fewer queries have no hits in the later rankings.
        """
        return split_by_sample(run.read(self.hits), run.read(self.queries))


class FusedHits(Stage[Hits], kind="fused_hits", version=1, work=Work.PER_QUERY):
    """One ranking, fused from several."""

    codec = Columns(Hits)

    fusion: Fusion
    depth: int
    rankings: tuple[Ranking, ...]

    def make(self, run: Run) -> Hits:
        """Fuse the rankings. Raises ComponentError for hits that break the contract of `Fusion`."""
        rankings = [hits for ranking in self.rankings for hits in ranking.by_sample(run)]
        n_hits = max(hits.chunk.shape[1] for hits in rankings)  # small corpora have fewer chunks than the depth
        fused = self.fusion.fuse(rankings, min(self.depth, n_hits))
        return validate_hits(fused, len(rankings[0]), min_chunk_count(rankings), self.fusion)


class OnlyHits(Stage[Hits], kind="sample_hits", version=1, work=Work.PER_QUERY):
    """The hits by sample, if there is a single ranking. It is unchanged if every sample has one query."""

    codec = Columns(Hits)

    ranking: Ranking

    def make(self, run: Run) -> Hits:
        """Return the ranking. Raises ComponentError if a sample has several queries."""
        first, *others = self.ranking.by_sample(run)
        if others:
            raise ComponentError(
                "the expander wrote several queries for a sample, and the retriever has no fusion to join their "
                "rankings, expected a retriever with a fusion, such as retriever=hybrid"
            )
        return first


def split_by_sample(hits: Hits, queries: Queries) -> list[Hits]:
    """Return rankings by sample. The i-th ranking has the hits of every sample's i-th query."""
    n_samples = int(queries.sample.max(initial=-1)) + 1
    if len(queries) == n_samples:
        return [hits]
    starts = np.searchsorted(queries.sample, queries.sample, side="left")
    number = np.arange(len(queries)) - starts
    rankings = []
    for i in range(int(number.max()) + 1):
        ranking = empty_hits(n_samples, hits.chunk.shape[1])
        rows = number == i
        ranking.chunk[queries.sample[rows]] = hits.chunk[rows]
        ranking.score[queries.sample[rows]] = hits.score[rows]
        rankings.append(ranking)
    return rankings


def build_fusion(
    fusion: Fusion | None, depth: int, rankings: Sequence[Ranking], *, is_one_query_each: bool
) -> Stage[Hits]:
    """Return the stage whose ranking later steps read.

    A retriever without a fusion has a single ranking. A single ranking with one query per sample needs no fusion.
    """
    if fusion is None or (len(rankings) == 1 and is_one_query_each):
        (ranking,) = rankings  # the checked configuration has one ranking without a fusion
        return OnlyHits(ranking)
    return FusedHits(fusion, depth, tuple(rankings))
