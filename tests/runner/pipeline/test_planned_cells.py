from pathlib import Path

import pytest

from components.llms.scripted import Scripted
from components.records import Answer, AnswerState
from runner.engine.ask import compute_replies_key
from runner.pipeline.planned_cells import SweepPlan
from tests.runner.sweeping import plan_small, run_small, store_of


def counts(plan: SweepPlan) -> dict[str, tuple[int, int, int]]:
    return {kind.kind: (kind.n_requested, kind.n_unique, kind.n_cached) for kind in plan.plan.kinds}


def grid(**axes: str) -> list[tuple[str, ...]]:
    """All combinations of the values of the axes; a dot in a name is written `__`."""
    cells: list[tuple[str, ...]] = [()]
    for name, values in axes.items():
        cells = [(*cell, f"{name.replace('__', '.')}={value}") for cell in cells for value in values.split(",")]
    return cells


class TestCounts:
    def test_plan_counts_requested_and_unique_stages_of_a_grid(self, tmp_path: Path) -> None:
        cells = grid(llm="scripted", chunk__size="64,128", retriever="bm25,hybrid", top_k="2,4,6")
        plan = plan_small(tmp_path, *cells)
        found = counts(plan)
        assert found["block_terms"] == (12, 1, 0)
        assert found["segments"] == (12, 1, 0)
        assert found["query_vectors"] == (6, 1, 0)
        assert found["chunks"] == (12, 2, 0)
        assert found["vectors"] == (6, 2, 0)
        assert found["sparse_hits"] == (12, 2, 0)
        assert found["fused_hits"] == (6, 2, 0)
        assert found["ranking_scores"] == (12, 4, 0)
        assert found["prompts"] == (12, 12, 0)
        assert found["answers"] == (12, 12, 0)
        assert found["data"] == (12, 1, 1), "it is loaded for the plan"
        assert {kind.kind for kind in plan.plan.kinds if kind.n_computed_by_plan} == {"data", "partition"}
        assert "reranked_hits" not in found

    def test_plan_counts_cached_results_without_planning_them(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, ("metrics=retrieval", "llm=scripted")) == 0
        same = plan_small(tmp_path, ("metrics=retrieval", "llm=scripted")).plan
        assert (same.order, same.n_requests) == ((), 0)
        assert all(
            (kind.n_cached, kind.n_to_run, kind.n_computed_by_plan) == (kind.n_unique, 0, 0) for kind in same.kinds
        )
        more = plan_small(tmp_path, *grid(metrics="retrieval", llm="scripted", top_k="5,6"))
        assert counts(more)["context"] == (2, 2, 1)
        assert {stage.kind for stage in more.plan.order} == {
            "context", "prompts", "answers", "context_scores", "result",
        }  # fmt: skip
        assert more.plan.n_requests == 12

    def test_plan_omits_the_inputs_of_a_cached_result(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, ("metrics=retrieval",)) == 0
        store = store_of(tmp_path)
        for entry in list(store.entries()):
            if entry.manifest.kind == "sparse_index":
                store.discard(entry)
        plan = plan_small(tmp_path, ("metrics=retrieval",))
        assert plan.plan.order == ()
        (kind,) = [kind for kind in plan.plan.kinds if kind.kind == "sparse_index"]
        assert (kind.n_cached, kind.n_to_run) == (0, 0)

    def test_plan_summary_has_cells_requests_and_stages(self, tmp_path: Path) -> None:
        summary = plan_small(tmp_path, *grid(llm="scripted", retriever="bm25", embedder="hashing,lsa")).summary()
        assert (summary["n_cells"], summary["n_requested"], summary["n_requests"]) == (1, 2, 12)
        assert summary["requests"] == {"answers": 12}
        assert summary["stages"]["answers"] == {"n_requested": 2, "n_unique": 1, "n_cached": 0}


class TestRequests:
    SCRIPTED = ("llm=scripted", "metrics=retrieval")

    def test_plan_counts_requests_per_distinct_cell(self, tmp_path: Path) -> None:
        plan = plan_small(tmp_path, *grid(llm="scripted", top_k="2,4")).plan
        assert plan.n_requests == 2 * 12
        assert [(count.kind, count.n_requests, count.is_exact) for count in plan.requests] == [("answers", 24, False)]

    @pytest.mark.parametrize("llm", ["none", "extractive"])
    def test_plan_without_a_model_has_no_requests(self, llm: str, tmp_path: Path) -> None:
        plan = plan_small(tmp_path, (f"llm={llm}",)).plan
        assert (plan.requests, plan.n_requests) == ((), 0)

    def test_planned_requests_are_exact_once_the_prompts_are_cached(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, self.SCRIPTED) == 0
        store = store_of(tmp_path)
        forget(tmp_path, "answers", "result")
        for path in (store.root / "replies").glob("*/*.jsonl"):
            path.unlink()
        (count,) = plan_small(tmp_path, self.SCRIPTED).plan.requests
        assert (count.kind, count.n_requests, count.is_exact) == ("answers", 12, True)

    def test_plan_subtracts_cached_replies(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, self.SCRIPTED) == 0
        forget(tmp_path, "answers", "result")
        assert plan_small(tmp_path, self.SCRIPTED).plan.n_requests == 0
        (replies,) = (store_of(tmp_path).root / "replies").glob("*/*.jsonl")
        lines = [line for line in replies.read_bytes().splitlines(keepends=True) if line.strip()]
        replies.write_bytes(b"".join(lines[:-2]))
        assert plan_small(tmp_path, self.SCRIPTED).plan.n_requests == 2

    def test_plan_keeps_the_cached_replies_of_another_model_apart(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, self.SCRIPTED) == 0
        (count,) = plan_small(tmp_path, (*self.SCRIPTED, "llm.reply=other")).plan.requests
        assert (count.n_requests, count.is_exact) == (12, True)

    def test_plan_counts_failed_replies_as_requests(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, self.SCRIPTED) == 0
        forget(tmp_path, "answers", "result")
        (file,) = (store_of(tmp_path).root / "replies").glob("*/*.jsonl")
        assert file.parent.name == compute_replies_key(Scripted(), "answers")
        file.unlink()
        replies = store_of(tmp_path).replies(file.parent.name)
        replies.add("a", Answer("a", AnswerState.ERROR, error="no"))
        assert plan_small(tmp_path, self.SCRIPTED).plan.n_requests == 12

    def test_smaller_sample_limit_sends_no_requests(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, self.SCRIPTED) == 0
        assert run_small(tmp_path, (*self.SCRIPTED, "dataset.limit=6"), sweep_id="fewer") == 0
        (replies,) = (store_of(tmp_path).root / "replies").glob("*/*.jsonl")
        assert len([line for line in replies.read_bytes().splitlines() if line]) == 12


def forget(folder: Path, *kinds: str) -> None:
    store = store_of(folder)
    for entry in list(store.entries()):
        if entry.manifest.kind in kinds:
            store.discard(entry)


class TestSameExperiments:
    def test_plan_joins_equal_experiments(self, tmp_path: Path) -> None:
        plan = plan_small(tmp_path, *grid(llm="scripted", retriever="bm25", embedder="hashing,lsa"))
        (cell,) = plan.cells
        assert plan.n_requested == 2
        assert [request.job.overrides[-1] for request in cell.same_as] == ["embedder=lsa"]
        assert counts(plan)["answers"] == (2, 1, 0)

    def test_unused_axes_have_no_value(self, tmp_path: Path) -> None:
        bm25, closed_book = plan_small(tmp_path, ("retriever=bm25",), ("retriever=closed_book",)).cells
        assert (bm25.axes["embedder"], bm25.axes["top_k"], bm25.axes["retriever"]) == (None, 5, "bm25")
        unused = [name for name, value in closed_book.axes.items() if value is None]
        assert {"chunk", "chunk.size", "chunk.overlap", "chunk.unit", "top_k", "embedder"} <= set(unused)

    def test_varying_runtime_only_fields_are_unused_axes(self, tmp_path: Path) -> None:
        (cell,) = plan_small(tmp_path, *grid(llm="scripted", llm__delay_s="0.5,0.6", llm__reply="yes")).cells
        assert cell.axes["llm.delay_s"] is None
        assert cell.axes["llm.reply"] == "yes"

    def test_chosen_group_is_named_by_its_option(self, tmp_path: Path) -> None:
        (cell,) = plan_small(tmp_path, ("metrics=retrieval", "llm=scripted")).cells
        assert cell.axes["metrics"] == "retrieval"
        assert cell.axes["llm"] == "scripted"

    def test_planned_cells_keep_the_requested_order(self, tmp_path: Path) -> None:
        cells = plan_small(tmp_path, *grid(top_k="9,2,5")).cells
        assert [cell.axes["top_k"] for cell in cells] == [9, 2, 5]


class TestOrder:
    def test_planned_stages_follow_their_inputs(self, tmp_path: Path) -> None:
        plan = plan_small(
            tmp_path, *grid(chunk__size="64,128", retriever="closed_book,hybrid_rerank", top_k="2,4")
        ).plan
        place = {stage.key: i for i, stage in enumerate(plan.order)}
        assert len(place) == len(plan.order) == sum(kind.n_to_run for kind in plan.kinds)
        assert sum(kind.n_to_run for kind in plan.kinds) == sum(kind.n_unique - kind.n_cached for kind in plan.kinds)
        cached = {kind.kind for kind in plan.kinds if kind.n_cached}
        for stage in plan.order:
            assert all(place[before.key] < place[stage.key] for before in stage.inputs if before.kind not in cached)

    def test_plan_finishes_cells_one_after_another(self, tmp_path: Path) -> None:
        order = [stage.kind for stage in plan_small(tmp_path, *grid(chunk__size="64,128,256")).plan.order]
        ends = [i for i, kind in enumerate(order) if kind == "result"]
        chunkings = [i for i, kind in enumerate(order) if kind == "chunks"]
        assert ends[0] < chunkings[1] < ends[1] < chunkings[2] < ends[2]


class TestAxes:
    def test_axes_without_effect_are_marked_unused(self, tmp_path: Path) -> None:
        """The hashing embedder uses no words."""
        cells = grid(llm="scripted", retriever="bm25,dense", tokenizer="english,bigrams")
        axes = [cell.axes for cell in plan_small(tmp_path, *cells).cells]
        found = [(own["retriever"], own["tokenizer"]) for own in axes]
        assert found == [("bm25", "english"), ("bm25", "bigrams"), ("dense", None)]

    def test_file_axes_distinguish_cells_by_content(self, tmp_path: Path) -> None:
        for name, text in (("a", "apples"), ("b", "apples"), ("c", "pears")):
            (tmp_path / f"{name}.jsonl").write_text(f'{{"id": "1", "text": "{text}"}}', encoding="utf-8")
        (tmp_path / "samples.jsonl").write_text('{"id": "1", "question": "apples?"}', encoding="utf-8")
        dataset = ("dataset=jsonl", f"dataset.samples={tmp_path / 'samples.jsonl'}", "tokenizer=english")
        cells = [(*dataset, f"dataset.documents={tmp_path / name}.jsonl") for name in ("a", "b", "c")]
        axes = [cell.axes["dataset.documents"] for cell in plan_small(tmp_path, *cells).cells]
        assert axes == [None, str(tmp_path / "c.jsonl")]
