"""The time of a corpus, once, and of each question."""

from pathlib import Path

import pytest

from runner.engine.stage import Work
from runner.engine.store import Store
from runner.output.collect import add_answer_latency
from runner.pipeline.corpus.loaded_data import Samples
from runner.pipeline.search.encoded_search import DenseHead
from runner.pipeline.search.existing_index_search import IndexedCorpus
from tests.runner.pipeline.fixed import CELLS, fixed_cell, graph_in
from tests.runner.pipeline.version_guard import kinds
from tests.runner.sweeping import FEW_METRICS, cells_in, run_small


def test_stage_work_follows_from_its_inputs(tmp_path: Path) -> None:
    """Work that is done once per corpus has no questions among its inputs; work per question does."""
    store = Store(tmp_path)
    seen = set()
    for fields in CELLS.values():
        for stage in graph_in(store, fixed_cell(**fields)).result.upstream():
            seen.add(stage.work)
            before = list(stage.upstream())
            if isinstance(stage, DenseHead):  # passes on vectors, of chunks or of queries, which takes no time
                continue
            if IndexedCorpus in {type(each) for each in before}:  # a corpus to which hits of an index were added
                continue
            if stage.work is Work.ONE_TIME:
                assert {each.work for each in before} <= {Work.ONE_TIME, Work.BENCHMARK}, stage.kind
                assert Samples not in {type(each) for each in before}, stage.kind
            elif stage.work in (Work.PER_QUERY, Work.ASKING):
                assert Samples in {type(each) for each in before}, stage.kind
    assert seen == set(Work)


def test_answer_latency_is_added_to_the_batched_latency() -> None:
    assert add_answer_latency(0.5, {"p50": 1.0, "p95": 3.0}) == {"batched": 0.5, "p50": 1.5, "p95": 3.5}
    assert add_answer_latency(0.5, {}) == {"batched": 0.5, "p50": 0.5, "p95": 0.5}


def test_seconds_of_a_sweep_are_split_into_one_time_and_per_query(tmp_path: Path) -> None:
    """12 questions; an earlier version charged them for term tables and other work that is done once per corpus."""
    slow = ["retriever=hybrid", "embedder=lsa", "llm=scripted", "llm.delay_s=0.01", *FEW_METRICS]
    assert run_small(tmp_path, slow) == 0
    (cell,) = cells_in(tmp_path)
    works = {kind: stage.work for kind, stage in kinds().items()}
    seconds = {work: sum(s for kind, s in cell.seconds.items() if works[kind] is work) for work in Work}
    assert cell.one_time_s == pytest.approx(seconds[Work.ONE_TIME])
    assert cell.latency_s["batched"] == pytest.approx(seconds[Work.PER_QUERY] / 12)
    assert cell.latency_s["batched"] <= cell.latency_s["p50"] <= cell.latency_s["p95"]
    assert run_small(tmp_path, slow, sweep_id="again") == 0
    (again,) = cells_in(tmp_path, "again")
    assert (again.one_time_s, again.latency_s) == (cell.one_time_s, cell.latency_s)
