"""Samples with several queries, and expanders with several variants: each is searched for, then all are fused."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from components.expanders.history import ConversationHistory
from components.expanders.none import NoExpander
from components.protocols import QueryVariant
from components.records import Hits, Queries, Sample
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.cell_graph import Graph
from runner.pipeline.search.fusing import split_by_sample
from tests.runner.pipeline.fixed import CELLS, FixedData, bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import read_or_make


@dataclass(frozen=True)
class Words:
    """The question, and as further queries its last word or two: samples take turns at having one, two and three."""

    version: ClassVar[int] = 1

    @property
    def variants(self) -> tuple[QueryVariant, ...]:
        return (self,)

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        return [[sample.question, *sample.question.split()[-1:-3:-1]][: 1 + n % 3] for n, sample in enumerate(samples)]


@dataclass(frozen=True)
class Both:
    """The question alone, the question with its history, and its words."""

    version: ClassVar[int] = 1

    @property
    def variants(self) -> tuple[QueryVariant, ...]:
        return (NoExpander(), ConversationHistory(), Words())


def stages(graph: Graph, kind: str) -> list[Stage[Any]]:
    return [stage for stage in graph.result.upstream() if stage.kind == kind]


def test_hits_of_several_queries_are_split_by_sample() -> None:
    random = np.random.default_rng(0)
    n_queries_of = [2, 1, 3, 1, 2]
    sample = np.repeat(np.arange(5, dtype=np.int32), n_queries_of)
    hits = Hits(
        random.integers(0, 50, (len(sample), 4)).astype(np.int32), random.random((len(sample), 4)).astype(np.float32)
    )
    rankings = split_by_sample(hits, Queries([""] * len(sample), sample))
    assert len(rankings) == 3
    row = 0
    for number, n_queries in enumerate(n_queries_of):
        for i, ranking in enumerate(rankings):
            if i < n_queries:
                assert ranking.chunk[number].tolist() == hits.chunk[row].tolist()
                assert ranking.score[number].tolist() == hits.score[row].tolist()
                row += 1
            else:
                assert ranking.chunk[number].tolist() == [-1] * 4
                assert np.isneginf(ranking.score[number]).all()
    assert row == len(sample)


def test_ranking_of_one_query_per_sample_is_returned_unchanged() -> None:
    hits = Hits(np.zeros((2, 3), dtype=np.int32), np.ones((2, 3), dtype=np.float32))
    assert split_by_sample(hits, Queries(["a", "b"], np.arange(2, dtype=np.int32)))[0] is hits


@pytest.mark.parametrize("expander", [Words(), Both()])
@pytest.mark.parametrize("side_by_side", [False, True])
def test_fused_hits_equal_a_plain_computation(tmp_path: Path, expander: Any, side_by_side: bool) -> None:
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(expander=expander, dataset=FixedData(side_by_side)))
    (fused,) = stages(graph, "fused_hits")
    run_all(store, fused)
    scores: list[dict[int, float]] = [defaultdict(float) for _ in range(4)]
    for kind in ("dense_hits", "sparse_hits"):
        for stage in stages(graph, kind):
            own = next(s for s in stage.upstream() if s.kind == "queries" and s in stages(graph, "queries"))
            hits, queries = read_or_make(stage, store), read_or_make(own, store)
            assert isinstance(queries, Queries)
            for sample, row in zip(queries.sample.tolist(), hits.chunk.tolist(), strict=True):
                for rank, chunk in enumerate(row):
                    if chunk >= 0:
                        scores[sample][chunk] += 1 / (60 + 1 + rank)
    found = read_or_make(fused, store)
    for row, wanted in enumerate(scores):
        best = sorted(wanted, key=lambda chunk: (-np.float32(wanted[chunk]), chunk))[:6]
        np.testing.assert_allclose([wanted[c] for c in best], found.score[row][: len(best)], rtol=1e-6)
        got = [chunk for chunk in found.chunk[row].tolist() if chunk >= 0]
        assert len(got) == len(best)
        np.testing.assert_allclose([wanted[c] for c in got], [wanted[c] for c in best], rtol=1e-6)


def test_variants_share_the_hits_of_a_cell_without_expansion(tmp_path: Path) -> None:
    store = Store(tmp_path)
    plain = graph_in(store, fixed_cell())
    both = graph_in(store, fixed_cell(expander=Both()))
    for kind in ("sparse_hits", "dense_hits", "queries"):
        (alone,) = stages(plain, kind)
        assert alone.key in {stage.key for stage in stages(both, kind)}
        assert len(stages(both, kind)) == 3
    run_all(store, plain.result)
    plan = make_plan([(both.result, 1)], store)
    (sparse,) = [count for count in plan.kinds if count.kind == "sparse_hits"]
    assert (sparse.n_unique, sparse.n_cached, sparse.n_to_run) == (3, 1, 2)


def test_judged_cell_runs_with_several_query_variants(tmp_path: Path) -> None:
    store = Store(tmp_path)
    result = graph_in(store, fixed_cell(expander=Both(), **CELLS["hybrid, reranked, judged"])).result
    run_all(store, result)
    queries = read_or_make(result, store).samples["query"].to_pylist()
    assert queries[2].split("\n") == ["Until when did the mill grind corn?"] * 3 + ["corn?", "grind"]


@dataclass(frozen=True)
class Forgetful(Words):
    """Two queries for the first sample, none for the second: as many queries as samples, but not one for each."""

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        first, second, *others = samples
        return [[first.question, second.question], [], *([sample.question] for sample in others)]


def test_expander_that_omits_a_sample_is_rejected(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (stage,) = stages(graph_in(store, fixed_cell(expander=Forgetful())), "queries")
    order = make_plan([(stage, 1)], store).order
    (failed,) = [run for run in run_stages(order, store, Local()) if run.failed]
    assert "Forgetful: got queries for 3 of 4 samples, expected at least one for each" in failed.error


def test_several_queries_without_a_fusion_are_rejected(tmp_path: Path) -> None:
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(expander=Words(), retriever=bm25()))
    (stage,) = stages(graph, "sample_hits")
    order = make_plan([(stage, 1)], store).order
    (failed,) = [run for run in run_stages(order, store, Local()) if run.failed]
    assert "the retriever has no fusion to join their rankings" in failed.error
