from collections.abc import Mapping
from pathlib import Path

import pytest
from runner.pipeline.stages import Data, Graph

from runner.engine.plan import Plan, PlannedCell, make_plan
from runner.engine.stage import Stage
from runner.engine.store import Store
from tests.runner.fake_stages import Adder, add
from tests.runner.sweeping import plan_small, run_small, small_request, store_of


def counts(plan: Plan) -> dict[str, tuple[int, int, int]]:
    return {kind.kind: (kind.n_asked, kind.n_unique, kind.n_kept) for kind in plan.kinds}


def grid(**axes: str) -> list[tuple[str, ...]]:
    """All combinations of the values of the axes; a dot in a name is written `__`."""
    cells: list[tuple[str, ...]] = [()]
    for name, values in axes.items():
        cells = [(*cell, f"{name.replace('__', '.')}={value}") for cell in cells for value in values.split(",")]
    return cells


class TestCounts:
    def test_a_grid_asks_for_much_and_needs_little(self, tmp_path: Path) -> None:
        cells = grid(chunk__size="64,128", retriever="bm25,hybrid", top_k="2,4,6")
        found = counts(plan_small(tmp_path, *cells))
        assert found["terms"] == (12, 1, 0)
        assert found["segments"] == (12, 1, 0)
        assert found["query_vectors"] == (6, 1, 0)
        assert found["chunks"] == (12, 2, 0)
        assert found["vectors"] == (6, 2, 0)
        assert found["sparse_hits"] == (12, 2, 0)
        assert found["fused_hits"] == (6, 2, 0)
        assert found["ranking_scores"] == (12, 4, 0)
        assert found["answers"] == (12, 12, 0)
        assert "reranked_hits" not in found

    def test_calls_of_the_model_are_counted(self, tmp_path: Path) -> None:
        assert plan_small(tmp_path, *grid(top_k="2,4")).n_llm_calls == 2 * 12

    def test_what_is_kept_is_counted_and_not_to_be_done(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, ("metrics=retrieval",)) == 0
        same = plan_small(tmp_path, ("metrics=retrieval",))
        assert (same.order, same.n_llm_calls) == ((), 0)
        assert all(n_kept == n_unique for _, n_unique, n_kept in counts(same).values())
        more = plan_small(tmp_path, *grid(metrics="retrieval", top_k="5,6"))
        assert counts(more)["context"] == (2, 2, 1)
        assert {stage.kind for stage in more.order} == {"context", "answers", "context_scores", "matrices", "result"}
        assert more.n_llm_calls == 12

    def test_what_lies_behind_a_kept_result_is_not_needed(self, tmp_path: Path) -> None:
        assert run_small(tmp_path, ("metrics=retrieval",)) == 0
        store = store_of(tmp_path)
        for entry in list(store.entries()):
            if entry.manifest.kind == "sparse_index":
                store.discard(entry)
        assert plan_small(tmp_path, ("metrics=retrieval",)).order == ()

    def test_journalled_answers_are_not_asked_for_again(self, tmp_path: Path) -> None:
        plan = plan_small(tmp_path, ())
        (cell,) = plan.cells
        journal = store_of(tmp_path).journal(cell.graph.answers.key)
        journal.write_text('{"request_id": "a", "state": "ok"}\n{"request_id": "b", "state": "ok"}\n')
        assert plan_small(tmp_path, ()).n_llm_calls == 12 - 2

    def test_journalled_failures_are_asked_for_again(self, tmp_path: Path) -> None:
        plan = plan_small(tmp_path, ())
        (cell,) = plan.cells
        journal = store_of(tmp_path).journal(cell.graph.answers.key)
        journal.write_text('{"request_id": "a", "state": "ok"}\n{"request_id": "b", "state": "error"}\n')
        assert plan_small(tmp_path, ()).n_llm_calls == 12 - 1


class TestSameExperiments:
    def test_are_joined(self, tmp_path: Path) -> None:
        plan = plan_small(tmp_path, *grid(retriever="bm25", embedder="hashing,lsa"))
        (cell,) = plan.cells
        assert plan.n_requested == 2
        assert [request.job.overrides[-1] for request in cell.same_as] == ["embedder=lsa"]
        assert counts(plan)["answers"] == (2, 1, 0)

    def test_axes_that_do_not_count_have_no_value(self, tmp_path: Path) -> None:
        bm25, closed_book = plan_small(tmp_path, ("retriever=bm25",), ("retriever=closed_book",)).cells
        assert (bm25.axes["embedder"], bm25.axes["top_k"], bm25.axes["retriever"]) == (None, 5, "bm25")
        unused = [name for name, value in closed_book.axes.items() if value is None]
        assert {"chunk", "chunk.size", "chunk.overlap", "chunk.unit", "top_k", "embedder"} <= set(unused)

    def test_runtime_only_fields_that_vary_are_not_used(self, tmp_path: Path) -> None:
        (cell,) = plan_small(tmp_path, *grid(llm="scripted", llm__delay_s="0.5,0.6", llm__reply="yes")).cells
        assert cell.axes["llm.delay_s"] is None
        assert cell.axes["llm.reply"] == "yes"

    def test_a_chosen_group_is_named_by_its_option(self, tmp_path: Path) -> None:
        (cell,) = plan_small(tmp_path, ("metrics=retrieval", "llm=scripted")).cells
        assert cell.axes["metrics"] == "retrieval"
        assert cell.axes["llm"] == "scripted"

    def test_cells_come_in_the_order_asked_for(self, tmp_path: Path) -> None:
        cells = plan_small(tmp_path, *grid(top_k="9,2,5")).cells
        assert [cell.axes["top_k"] for cell in cells] == [9, 2, 5]


def cells_of(results: Mapping[str, Stage], answers: Stage) -> tuple[PlannedCell, ...]:
    """Cells made of any stages."""
    request = small_request()
    data = Data(answers, answers, 1, 1, ("",), {})
    graphs = {name: Graph(data, stage, answers, frozenset()) for name, stage in results.items()}
    return tuple(PlannedCell(name, request, graph) for name, graph in graphs.items())


class TestOrder:
    def test_inputs_come_first(self, tmp_path: Path) -> None:
        plan = plan_small(tmp_path, *grid(chunk__size="64,128", retriever="closed_book,hybrid_rerank", top_k="2,4"))
        place = {stage.key: i for i, stage in enumerate(plan.order)}
        assert len(place) == len(plan.order) == sum(kind.n_unique for kind in plan.kinds)
        for stage in plan.order:
            assert all(place[before.key] < place[stage.key] for before in stage.inputs.values())

    def test_cells_end_one_by_one(self, tmp_path: Path) -> None:
        order = [stage.kind for stage in plan_small(tmp_path, *grid(chunk__size="64,128,256")).order]
        ends = [i for i, kind in enumerate(order) if kind == "result"]
        chunkings = [i for i, kind in enumerate(order) if kind == "chunks"]
        assert ends[0] < chunkings[1] < ends[1] < chunkings[2] < ends[2]

    @pytest.mark.parametrize("models", [("large", "small"), ("small", "large")])
    def test_stages_of_one_model_are_together(self, tmp_path: Path, models: tuple[str, str]) -> None:
        source = Stage("data", add, Adder(0))
        answers = {
            (model, n): Stage("answers", add, Adder(model=model), {"data": source}, {"n": n})
            for n in range(3)
            for model in models
        }
        results = {
            f"{model}-{n}": Stage("result", add, Adder(n), {"answers": stage}) for (model, n), stage in answers.items()
        }
        plan = make_plan(cells_of(results, source), Store(tmp_path))
        loaded = [stage.component.model for stage in plan.order if stage.kind == "answers"]
        assert loaded == [models[0]] * 3 + [models[1]] * 3

    def test_every_result_of_a_model_that_is_loaded_is_made_before_the_next_model(self, tmp_path: Path) -> None:
        """Reranking waits for embedding: a model may be needed by two stages, one behind the other."""
        source = Stage("data", add, Adder(0))
        first = Stage("vectors", add, Adder(1, model="one"), {"data": source})
        other = Stage("answers", add, Adder(1, model="other"), {"data": source})
        second = Stage("reranked_hits", add, Adder(1, model="one"), {"vectors": first})
        result = Stage("result", add, Adder(1), {"a": other, "b": second})
        plan = make_plan(cells_of({"cell": result}, source), Store(tmp_path))
        models = [stage.component.model for stage in plan.order if stage.component.model]
        assert models in (["one", "one", "other"], ["other", "one", "one"])


class TestAxes:
    def test_in_which_equal_experiments_differ_are_not_used(self, tmp_path: Path) -> None:
        """The hashing embedder uses no words."""
        cells = grid(llm="scripted", retriever="bm25,dense", tokenizer="english,bigrams")
        axes = [cell.axes for cell in plan_small(tmp_path, *cells).cells]
        found = [(own["retriever"], own["tokenizer"]) for own in axes]
        assert found == [("bm25", "english"), ("bm25", "bigrams"), ("dense", None)]

    def test_of_files_tell_cells_apart_by_their_content_alone(self, tmp_path: Path) -> None:
        for name, text in (("a", "apples"), ("b", "apples"), ("c", "pears")):
            (tmp_path / f"{name}.jsonl").write_text(f'{{"id": "1", "text": "{text}"}}', encoding="utf-8")
        (tmp_path / "samples.jsonl").write_text('{"id": "1", "question": "apples?"}', encoding="utf-8")
        dataset = ("dataset=jsonl", f"dataset.samples={tmp_path / 'samples.jsonl'}", "tokenizer=english")
        cells = [(*dataset, f"dataset.documents={tmp_path / name}.jsonl") for name in ("a", "b", "c")]
        axes = [cell.axes["dataset.documents"] for cell in plan_small(tmp_path, *cells).cells]
        assert axes == [None, str(tmp_path / "c.jsonl")]
