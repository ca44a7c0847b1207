"""Cascades of rerankers: each step shares its stage with a cell that uses it alone, and its scores are stored."""

from pathlib import Path

import pytest

from runner.engine.store import Store
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from runner.pipeline.ranking.list_reranking import LLMHitOrders
from runner.pipeline.ranking.rerank_stages import RerankedHits
from tests.runner.pipeline.fixed import CELLS, fixed_cell, graph_in, run_all
from tests.runner.sweeping import RANKING_ONLY, cells_in, plan_small, read_or_make, run_small, samples_in, small_graph

CASCADE = (
    "reranker=cascade",
    "reranker@reranker.steps.precise=llm_pointwise",
    "llm@reranker.steps.precise.llm=scripted",
    "reranker.steps.light.depth=6",
    "reranker.steps.precise.depth=2",
)


def answers(reply: str) -> tuple[str, ...]:
    return (f"reranker.steps.precise.llm.reply='{reply}'",)


OPTIONS = ("dataset.limit=4", "llm=none", *RANKING_ONLY, *CASCADE)


def test_first_cascade_step_is_shared_with_a_cell_of_only_that_step() -> None:
    stages = {stage.kind: stage for stage in small_graph(*OPTIONS).result.upstream()}
    alone = small_graph("dataset.limit=4", "reranker=lexical_terms", "reranker.depth=6", "llm=none", *RANKING_ONLY)
    assert stages["reranked_hits"].key in {stage.key for stage in alone.result.upstream()}


def test_cascade_stores_the_scores_of_every_step(tmp_path: Path) -> None:
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(**CELLS["three rerankers"]))
    run_all(store, graph.result)
    table = read_or_make(graph.result, store).samples
    first, last = (stage for stage in graph.result.upstream() if isinstance(stage, RerankedHits))
    light, final = read_or_make(first, store), read_or_make(last, store)
    for row, sample in enumerate(table.to_pylist()):
        scores = [hit["score"] for hit in sample["reranker/light"]]
        assert scores == [score for score in light.score[row, :5].tolist() if score > float("-inf")]
        asked = [(hit["document_id"], hit["start"]) for hit in sample["reranker/asked"]]
        before = [(hit["document_id"], hit["start"]) for hit in sample["reranker/light"]][:2]
        assert asked == before[::-1], "the model swaps them"
        assert [hit["score"] for hit in sample["reranker/precise"]] == [0.0] * len(before)
        found = [(hit["document_id"], hit["start"]) for hit in sample["retrieved"]]
        assert found[:2] == asked, "equal scores leave their order"
        assert len(found) == (final.chunk[row] >= 0).sum()
    facts = read_or_make(graph.result, store).summary["steps"]["reranker"]["n_pairs"]
    assert facts["reranker/light"] > facts["reranker/asked"] == facts["reranker/precise"] > 0


def test_cascade_step_requests_are_planned_counted_and_reported(tmp_path: Path) -> None:
    (cell,) = plan_small(tmp_path, OPTIONS).cells
    (asked,) = [stage for stage in cell.graph.result.upstream() if isinstance(stage, LLMHitOrders)]
    assert asked.n_requests == 4 * 2
    assert run_small(tmp_path, (*OPTIONS, *answers('{"grade": 3}'))) == EXIT_OK
    (result,) = cells_in(tmp_path)
    assert result.judges["reranker/precise"]["n_judged"] == 4
    assert result.usage["reranker/precise"]["n_requests"] == 8
    assert {len(sample["reranker/light"]) for sample in samples_in(tmp_path)} == {6}
    assert run_small(tmp_path, (*OPTIONS, *answers("no idea")), sweep_id="unread") == EXIT_CELL_FAILED
    (unread,) = cells_in(tmp_path, "unread")
    assert unread.reason.startswith("4 of 4 orders of the reranker/precise could not be read")


@pytest.mark.parametrize("override", ["reranker.steps.precise.depth=1", "reranker.steps.light.bigram_weight=0.5"])
def test_changed_cascade_step_changes_only_downstream_stages(override: str) -> None:
    graphs = (small_graph(*OPTIONS), small_graph(*OPTIONS, override))
    before, after = ({stage.kind: stage.key for stage in graph.result.upstream()} for graph in graphs)
    changed = {kind for kind in before if before[kind] != after[kind]}
    behind = {"hit_orders", "reordered_hits", "context", "ranking_scores", "context_scores", "result"}
    assert changed - behind == ({"reranked_hits"} if "light" in override else set())
    assert behind - {"context_scores"} <= changed
