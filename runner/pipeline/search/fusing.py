"""One ranking per sample, from the rankings of all arms and all variants of the query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.errors import ComponentError
from components.protocols import Fusion
from components.records import Hits, Queries
from components.text.ranking import empty_hits
from runner.engine.codecs import Codec, Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.search.checked_hits import checked_hits, n_chunks_in


@dataclass(frozen=True)
class Ranking(StageGroup):
    """The hits of one arm for one variant of the query, and the queries that they are of."""

    hits: Stage[Hits]
    queries: Stage[Queries]

    def by_sample(self, run: Run) -> list[Hits]:
        """Rankings with a row per sample: as many as the sample with most queries has. Samples with fewer have no hit
        in the later ones.
        """
        return split_by_sample(run.read(self.hits), run.read(self.queries))


@dataclass(frozen=True, eq=False)
class FusedHits(Stage[Hits]):
    """One ranking from all of them."""

    kind: ClassVar[str] = "fused_hits"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Hits]] = Columns(Hits)

    fusion: Fusion
    depth: int
    rankings: tuple[Ranking, ...]

    def make(self, run: Run) -> Hits:
        """Fuses them. Raises ComponentError for hits that break the contract of `Fusion`."""
        rankings = [hits for ranking in self.rankings for hits in ranking.by_sample(run)]
        n_kept = max(hits.chunk.shape[1] for hits in rankings)  # less than the depth where there are fewer chunks
        fused = self.fusion.fuse(rankings, min(self.depth, n_kept))
        return checked_hits(fused, len(rankings[0]), n_chunks_in(rankings), self.fusion)


@dataclass(frozen=True, eq=False)
class OnlyHits(Stage[Hits]):
    """The one ranking that there is, by sample. Where every sample has one query it is just that."""

    kind: ClassVar[str] = "sample_hits"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[Hits]] = Columns(Hits)

    ranking: Ranking

    def make(self, run: Run) -> Hits:
        """The ranking. Raises ComponentError if a sample has several queries."""
        first, *others = self.ranking.by_sample(run)
        if others:
            raise ComponentError(
                "the expander gave several queries for a sample, and the retriever has no fusion to join their "
                "rankings; expected a retriever with one, such as retriever=hybrid"
            )
        return first


def split_by_sample(hits: Hits, queries: Queries) -> list[Hits]:
    """The i-th ranking holds the hits of every sample's i-th query."""
    n_samples = int(queries.sample.max(initial=-1)) + 1
    if len(queries) == n_samples:
        return [hits]
    starts = np.searchsorted(queries.sample, queries.sample, side="left")
    number = np.arange(len(queries)) - starts
    rankings = []
    for i in range(int(number.max()) + 1):
        of_sample = empty_hits(n_samples, hits.chunk.shape[1])
        rows = number == i
        of_sample.chunk[queries.sample[rows]] = hits.chunk[rows]
        of_sample.score[queries.sample[rows]] = hits.score[rows]
        rankings.append(of_sample)
    return rankings


def joined_hits(
    fusion: Fusion | None, depth: int, rankings: Sequence[Ranking], *, is_one_query_each: bool
) -> Stage[Hits]:
    """The ranking that later steps read. A retriever without a fusion has a single one; a single one of one query for
    every sample needs none.
    """
    if fusion is None or (len(rankings) == 1 and is_one_query_each):
        (ranking,) = rankings  # the configuration was checked
        return OnlyHits(ranking)
    return FusedHits(fusion, depth, tuple(rankings))
