"""What a corpus takes once, and what each question takes."""

from pathlib import Path

import pytest

from runner.engine.stage import Work
from runner.output.collect import with_answers
from tests.runner.pipeline.version_guard import kinds
from tests.runner.sweeping import FEW_METRICS, cells_in, run_small

ONE_TIME = {
    "segments", "chunks", "terms", "embedder_state", "vectors", "vector_index", "sparse_index", "encoded_chunks",
    "dense_head", "token_index", "refined_corpus", "headed_corpus", "chunk_headers", "child_chunks", "headed_chunks",
}  # fmt: skip
ASKING = {"answers", "baseline_answers", "no_answers", "generation", "generated_answers"}
PER_QUERY = {
    "queries", "query_terms", "query_vectors", "encoded_queries", "dense_hits", "sparse_hits", "token_hits",
    "fused_hits", "sample_hits", "picked_hits", "late_interaction_hits", "reranked_hits", "hit_orders",
    "reordered_hits", "allowed_documents", "filtered_hits", "diverse_hits", "diverse_hits_by_vectors", "context",
    "empty_context", "prompts", "asked_queries", "parent_hits",
}  # fmt: skip


def test_every_kind_of_stage_is_of_one_sort_of_work() -> None:
    found = {work: {kind for kind, stage in kinds().items() if stage.work is work} for work in Work}
    assert found[Work.ONE_TIME] == ONE_TIME
    assert found[Work.PER_QUERY] == PER_QUERY
    assert found[Work.ASKING] == ASKING


def test_answers_come_on_top_of_what_all_questions_share() -> None:
    assert with_answers(0.5, {"p50": 1.0, "p95": 3.0}) == {"batched": 0.5, "p50": 1.5, "p95": 3.5}
    assert with_answers(0.5, {}) == {"batched": 0.5, "p50": 0.5, "p95": 0.5}


def test_in_a_sweep(tmp_path: Path) -> None:
    """12 questions; in the run before, term tables and all else that a corpus takes once were put on them."""
    slow = ["retriever=hybrid", "embedder=lsa", "llm=scripted", "llm.delay_s=0.01", *FEW_METRICS]
    assert run_small(tmp_path, slow) == 0
    (cell,) = cells_in(tmp_path)
    assert cell.one_time_s == pytest.approx(sum(cell.seconds.get(kind, 0.0) for kind in ONE_TIME))
    assert cell.latency_s["batched"] == pytest.approx(sum(cell.seconds.get(kind, 0.0) for kind in PER_QUERY) / 12)
    assert cell.latency_s["batched"] <= cell.latency_s["p50"] <= cell.latency_s["p95"]
    assert run_small(tmp_path, slow, sweep_id="again") == 0
    (again,) = cells_in(tmp_path, "again")
    assert (again.one_time_s, again.latency_s) == (cell.one_time_s, cell.latency_s)
