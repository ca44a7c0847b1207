"""Ranks of a cell's hits in earlier rankings: of each search, and before the reranker."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from components.protocols import Arm, DenseArm, EncodedDenseArm, EncodedSparseArm, GraphArm, Retriever, SparseArm
from components.records import Hits, Spans
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.pipeline.corpus.chunk_facts import GRAPH
from runner.pipeline.corpus.parent_chunks import find_parents
from runner.pipeline.search.fusing import Ranking
from runner.pipeline.search.hit_columns import HitTable
from runner.pipeline.search.iterating import SearchRanking

DENSE, SPARSE = "dense", "sparse"
BEFORE_RERANK = "before_rerank"

Ranks = NDArray[np.int64]


@dataclass(frozen=True)
class ArmRanking(StageGroup, name_in_keys="RankingOfArm"):
    """One ranking of a search, for one variant of the query, and the names of its columns of ranks."""

    names: tuple[str, ...]
    ranking: Ranking | SearchRanking


@dataclass(frozen=True)
class HitRanks(StageGroup):
    """Earlier rankings of a cell's hits.

    `family` are the chunks that were searched and the chunks that are read, if these differ. `before_reranker` is the
    ranking that the reranker read, if there is one.
    """

    arms: tuple[ArmRanking, ...] = ()
    family: tuple[Stage[Spans], ...] = ()
    before_reranker: tuple[Stage[Hits], ...] = ()

    def columns(self, run: Run, table: HitTable) -> dict[str, pa.Array]:
        """Return the rank of every hit in each ranking by name, from 1; null if the ranking does not have it.

        The best rank counts among several variants of the query, among several searches with one name, and among the
        parts of a chunk.
        """
        ranks_by_name: dict[str, Ranks] = {name: np.zeros(len(table.row), dtype=np.int64) for name in (DENSE, SPARSE)}
        for arm in self.arms:
            for hits in self._convert_to_read(run, arm.ranking.by_sample(run)):
                ranks = _find_ranks(hits, table)
                for name in arm.names:
                    ranks_by_name[name] = _best_ranks(ranks_by_name[name], ranks) if name in ranks_by_name else ranks
        ranks_by_name[BEFORE_RERANK] = np.zeros(len(table.row), dtype=np.int64)
        for stage in self.before_reranker:  # a cell has at most one ranking before a reranker
            ranks_by_name[BEFORE_RERANK] = _find_ranks(run.read(stage), table)
        return {name: pa.array(ranks, pa.int32(), mask=ranks == 0) for name, ranks in ranks_by_name.items()}

    def _convert_to_read(self, run: Run, rankings: Iterable[Hits]) -> Iterator[Hits]:
        """Convert rankings to chunks that are read."""
        if not self.family:
            yield from rankings
            return
        searched, read = (run.read(stage) for stage in self.family)
        parents = np.append(find_parents(searched, read), -1)
        yield from (Hits(parents[hits.chunk], hits.score) for hits in rankings)


def search_names(retriever: Retriever) -> list[tuple[str, ...]]:
    """Return the names of each search: its kind, and its name in `arm_names` if several are of that kind.

    A single search of its kind only has the kind, so that its column does not depend on its name.
    """
    kinds = [_name_kind(arm) for arm in retriever.arms]
    arm_names: Sequence[str] = getattr(retriever, "arm_names", kinds)
    return [
        tuple(dict.fromkeys((kind, name))) if kinds.count(kind) > 1 else (kind,)
        for kind, name in zip(kinds, arm_names, strict=True)
    ]


def _name_kind(arm: Arm) -> str:
    if isinstance(arm, DenseArm | EncodedDenseArm):
        return DENSE
    if isinstance(arm, GraphArm):
        return GRAPH
    return SPARSE if isinstance(arm, SparseArm | EncodedSparseArm) else "late_interaction"


def _find_ranks(hits: Hits, table: HitTable) -> Ranks:
    """Return the rank of every hit of the table among these hits of its sample, int64; 0 if it is not among them."""
    n_chunks = 2 + max(int(hits.chunk.max(initial=-1)), int(table.chunk.max(initial=-1)))
    order = np.argsort(hits.chunk, axis=1, kind="stable")  # the first of equal chunks is found
    first_keys = np.arange(len(hits))[:, None] * n_chunks + 1
    keys = (first_keys + np.take_along_axis(hits.chunk, order, axis=1)).ravel()  # padding first: keys are sorted
    target = table.row * n_chunks + 1 + table.chunk
    if not len(keys):
        return np.zeros(len(target), dtype=np.int64)
    index = np.minimum(np.searchsorted(keys, target), len(keys) - 1)
    return np.where(keys[index] == target, order.ravel()[index] + 1, 0)


def _best_ranks(one: Ranks, other: Ranks) -> Ranks:
    return np.where((one == 0) | ((other > 0) & (other < one)), other, one)
