import re
from copy import deepcopy
from typing import Any

import pytest

from components.chunkers.budget import Unit
from components.chunkers.sentence import SentencePacking
from components.errors import ConfigError
from components.fusions.rrf import ReciprocalRank
from components.metrics.trec import TrecMeasures
from runner.engine.executors.local import Local
from runner.pipeline.building import CellBuilder, build_cell
from runner.pipeline.cell import Cell
from tests.runner.sweeping import compose_job

MISSING = object()


@pytest.fixture(scope="module")
def default() -> Any:
    return compose_job().config


def changed(config: Any, **changes: object) -> dict[str, Any]:
    """A copy with values set by their path, dots written as `__`; MISSING removes the key."""
    copy: dict[str, Any] = deepcopy(config)
    for name, value in changes.items():
        *path, last = name.split("__")
        node = copy
        for step in path:
            node = node[step]
        if value is MISSING:
            del node[last]
        else:
            node[last] = value
    return copy


def problems_of(config: Any, **changes: object) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        build_cell(changed(config, **changes))
    return caught.value.problems


def built(config: Any, **changes: object) -> Cell:
    return build_cell(changed(config, **changes))


class TestValues:
    def test_schema_builds_components_with_their_types(self, default: Any) -> None:
        cell = built(default)
        assert isinstance(cell.chunk, SentencePacking)
        assert (cell.chunk.size, cell.chunk.unit) == (128, Unit.TOKEN)
        assert set(cell.metrics.scores) == set(default["metrics"]["scores"])

    def test_schema_reads_an_enum_from_its_value(self, default: Any) -> None:
        assert built(default, chunk__unit="char").chunk.unit is Unit.CHAR  # type: ignore[attr-defined]

    def test_schema_reads_a_whole_number_as_a_float(self, default: Any) -> None:
        overlap = built(default, chunk__overlap=0).chunk.overlap  # type: ignore[attr-defined]
        assert (overlap, type(overlap)) == (0.0, float)

    def test_schema_reads_a_list_as_a_tuple_of_typed_items(self, default: Any) -> None:
        cell = built(default, metrics__scores__trec__measures=["mrr"], retriever__fusion__weights=[1, 2])
        assert cell.metrics.scores["trec"] == TrecMeasures(("mrr",))
        assert cell.retriever.fusion == ReciprocalRank(weights=(1.0, 2.0))
        assert {type(weight) for weight in cell.retriever.fusion.weights} == {float}

    @pytest.mark.parametrize("limit", [None, 5])
    def test_schema_accepts_null_for_an_optional_value(self, default: Any, limit: int | None) -> None:
        assert built(default, dataset__limit=limit).dataset.limit == limit  # type: ignore[attr-defined]

    def test_schema_fills_a_missing_field_with_its_default(self, default: Any) -> None:
        assert built(default, retriever__depth=MISSING).retriever.depth == 100


class TestProblems:
    def test_unknown_key_suggests_the_nearest_known_key(self, default: Any) -> None:
        (problem,) = problems_of(default, chunk__sise=3)
        assert re.fullmatch(r"chunk\.sise: unknown, expected one of .*; did you mean size\?", problem)

    def test_unknown_key_without_a_near_match_lists_all_keys(self, default: Any) -> None:
        (problem,) = problems_of(default, chunk__zzz=3)
        assert problem.startswith("chunk.zzz: unknown, expected one of size, overlap, unit")

    def test_unknown_top_level_key_suggests_the_nearest_key(self, default: Any) -> None:
        assert problems_of(default, topk=3) == ("topk: unknown; did you mean top_k?",)

    @pytest.mark.parametrize(
        ("path", "value", "kind"),
        [
            ("chunk__size", "64", "a whole number"),
            ("chunk__size", 64.0, "a whole number"),
            ("chunk__size", True, "a whole number"),
            ("chunk__size", None, "a whole number"),
            ("chunk__overlap", "a lot", "a number"),
            ("chunk__overlap", False, "a number"),
            ("chunk__overlap", float("nan"), "a number"),
            ("chunk__overlap", float("inf"), "a number"),
            ("prompt__system", 3, "a string"),
            ("dataset__limit", "ten", "a whole number"),
            ("run__plan_only", "yes", "true or false"),
            ("run__plan_only", 1, "true or false"),
            ("chunk__unit", "word", "one of token, char"),
            ("metrics__scores__trec__measures", "mrr", "a list of a string, e.g. [mrr]"),
            ("metrics__scores", [], "a mapping"),
            ("llm", "extractive", "a mapping for LLM"),
            ("metrics", None, "a mapping for MetricSettings"),
        ],
    )
    def test_type_error_names_path_value_and_expected_type(
        self, default: Any, path: str, value: object, kind: str
    ) -> None:
        expected = f"{path.replace('__', '.')}: got {value!r} ({type(value).__name__}), expected {kind}"
        assert problems_of(default, **{path: value}) == (expected,)

    def test_whole_number_beyond_all_floats_is_rejected(self, default: Any) -> None:
        (problem,) = problems_of(default, chunk__overlap=10**400)
        assert problem.startswith("chunk.overlap: got 1000")
        assert problem.endswith("expected a number")

    def test_type_error_names_the_invalid_list_item(self, default: Any) -> None:
        (problem,) = problems_of(default, metrics__scores__trec__measures=["mrr", 3])
        assert problem == "metrics.scores.trec.measures[1]: got 3 (int), expected a string"

    def test_missing_key_without_default_is_reported(self, default: Any) -> None:
        assert problems_of(default, retriever__sparse_index=MISSING) == (
            "retriever.sparse_index: missing, expected SparseIndex",
        )

    def test_missing_group_is_reported(self, default: Any) -> None:
        assert problems_of(default, llm=MISSING) == ("llm: missing, expected LLM",)

    @pytest.mark.parametrize("value", [None, "x", 3, []])
    def test_value_in_place_of_settings_is_rejected(self, default: Any, value: object) -> None:
        (problem,) = problems_of(default, run=value)
        assert problem == f"run: got {value!r} ({type(value).__name__}), expected a mapping for RunSettings"

    def test_errors_at_all_levels_are_reported_together(self, default: Any) -> None:
        found = problems_of(default, chunk__size="x", embedder__tokenizer__hnm=True, run__workers=-1, top=1)
        assert [problem.partition(":")[0] for problem in sorted(found)] == [
            "chunk.size",
            "embedder.tokenizer.hnm",
            "run.workers",
            "top",
        ]

    def test_config_error_counts_and_lists_all_errors(self, default: Any) -> None:
        with pytest.raises(ConfigError) as caught:
            build_cell(changed(default, chunk__size="x", top=1))
        first, *lines = str(caught.value).splitlines()
        assert first == "2 errors in the configuration:"
        assert len(lines) == 2
        assert all(line.startswith("  - ") for line in lines)


class TestSeveralCells:
    def test_cell_builder_shares_equal_components(self, default: Any) -> None:
        builder = CellBuilder()
        first, second = builder.build(default), builder.build(changed(default, chunk__size=64))
        assert (first.chunk.size, second.chunk.size) == (128, 64)  # type: ignore[attr-defined]
        assert second.metrics is first.metrics
        assert second.retriever is first.retriever
        assert second == built(default, chunk__size=64)

    def test_cached_build_distinguishes_equal_values_of_different_types(self, default: Any) -> None:
        builder = CellBuilder()
        builder.build(changed(default, chunk__overlap=0))
        with pytest.raises(ConfigError, match="got False"):
            builder.build(changed(default, chunk__overlap=False))

    def test_error_of_several_cells_is_reported_for_each(self, default: Any) -> None:
        builder = CellBuilder()
        for size in (64, 128):
            with pytest.raises(ConfigError, match=r"llm\.nonsense: unknown"):
                builder.build(changed(default, llm__nonsense=1, chunk__size=size))
        assert builder.build(default).llm == built(default).llm


class TestTargets:
    @pytest.mark.parametrize("target", ["os.system", "runner.launch.sweep.Job", "componentsx.Thing", None, 3])
    def test_target_outside_components_is_rejected(self, default: Any, target: object) -> None:
        (problem,) = problems_of(default, llm___target_=target)
        assert problem.startswith(f"llm._target_: got {target!r}")
        assert "expected the dotted path of a class under components.*. For your own code" in problem

    def test_executor_targets_are_allowed_only_for_executors(self, default: Any) -> None:
        target = "runner.engine.executors.local.Local"
        (problem,) = problems_of(default, llm___target_=target)
        assert "expected the dotted path of a class under components.*." in problem
        assert built({**default, "executor": {"_target_": target}}).executor == Local()
        (problem,) = problems_of(default, executor___target_="components.rerankers.none.NoReranker")
        assert "expected the dotted path of a class under runner.engine.executors.*." in problem

    def test_executor_resources_reject_unknown_stage_kinds(self, default: Any) -> None:
        (problem,) = problems_of(default, executor__resources={"vector": {"cpus": 4}})
        assert problem.startswith("executor.resources.vector: no stage has this kind; did you mean vectors?")

    def test_missing_package_of_a_target_is_reported_once(self, default: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runner.engine.executors.ray_cluster.find_spec", lambda name: None)
        target = "runner.engine.executors.ray_cluster.RayCluster"
        (problem,) = problems_of(default, executor={"_target_": target, "address": "auto", "resources": {}})
        assert problem.startswith("executor: executor=ray needs the package 'ray', which is not installed")

    @pytest.mark.parametrize("target", ["components.llms.nothing.Here", "components.llms.scripted.Nothing"])
    def test_target_that_cannot_be_imported_is_rejected(self, default: Any, target: str) -> None:
        (problem,) = problems_of(default, llm___target_=target)
        assert problem.startswith(f"llm._target_: got '{target}' (str), expected a class that can be imported (")

    @pytest.mark.parametrize("target", ["components.text.corpus_tables.segment", "components.errors.ConfigError"])
    def test_target_that_is_not_a_frozen_dataclass_is_rejected(self, default: Any, target: str) -> None:
        (problem,) = problems_of(default, llm___target_=target)
        assert problem == f"llm._target_: got '{target}' (str), expected a frozen dataclass"

    def test_missing_target_is_reported(self, default: Any) -> None:
        (problem,) = problems_of(default, llm={"reply": "yes"})
        assert problem.startswith("llm._target_: got None")

    def test_target_without_the_methods_of_its_role_is_rejected(self, default: Any) -> None:
        (problem,) = problems_of(default, llm={"_target_": "components.rerankers.none.NoReranker"})
        assert problem == (
            "llm._target_: got 'components.rerankers.none.NoReranker' (str), "
            "expected a LLM, but NoReranker lacks answers_from, generate"
        )

    def test_pipeline_in_place_of_a_language_model_is_rejected(self, default: Any) -> None:
        """A pipeline has all members of a language model, but reads conversations and not prompts."""
        pipeline = {"_target_": "components.pipelines.http.HttpPipeline", "url": "http://127.0.0.1:9", "revision": 1}
        (problem,) = problems_of(default, llm={**pipeline, "parameters": {}})
        assert problem == (
            "llm._target_: got 'components.pipelines.http.HttpPipeline' (str), expected a LLM, but HttpPipeline is a "
            "pipeline, which pipeline._target_ chooses"
        )

    def test_target_that_is_not_a_metric_is_rejected(self, default: Any) -> None:
        (problem,) = problems_of(default, metrics__scores__em={"_target_": "components.rerankers.none.NoReranker"})
        assert problem.startswith("metrics.scores.em._target_:")

    def test_component_part_of_another_role_is_rejected(self, default: Any) -> None:
        (problem,) = problems_of(default, embedder__tokenizer={"_target_": "components.tokenizers.cl100k.Cl100k"})
        assert problem.startswith("embedder.tokenizer._target_:")


class TestChecks:
    @pytest.mark.parametrize("overlap", [1.0, -0.1, 30.0])
    def test_overlap_outside_its_range_is_rejected(self, default: Any, overlap: float) -> None:
        (problem,) = problems_of(default, chunk__overlap=overlap)
        assert problem.startswith(f"chunk.overlap: got {overlap}, expected a fraction of the size in [0, 1)")

    @pytest.mark.parametrize("size", [0, -1, 3])
    def test_chunk_size_below_one_token_is_rejected(self, default: Any, size: int) -> None:
        (problem,) = problems_of(default, chunk__size=size)
        assert problem.startswith(f"chunk.size: got {size}, expected at least 4")

    def test_top_k_beyond_the_depth_is_rejected(self, default: Any) -> None:
        (problem,) = problems_of(default, top_k=11, retriever__depth=10)
        assert problem.startswith("top_k: got 11, more than retriever.depth=10")

    def test_zero_top_k_is_rejected(self, default: Any) -> None:
        (problem,) = problems_of(default, top_k=0)
        assert problem.startswith("top_k: got 0, expected at least 1")

    def test_index_with_more_dimensions_than_the_vectors_is_rejected(self, default: Any) -> None:
        fields = {"dimensions": 200, "rescore": True, "oversampling": 4.0}
        index = {"_target_": "components.vector_indexes.binary.Binary", **fields}
        (problem,) = problems_of(default, retriever__vector_index=index)
        assert problem.startswith("vector_index.dimensions: got 200, expected at most 128")

    def test_closed_book_accepts_any_top_k(self, default: Any) -> None:
        closed_book = {"_target_": "components.retrievers.closed_book.ClosedBook"}
        assert built(default, top_k=500, retriever=closed_book).retriever.depth == 0

    def test_errors_of_component_parts_carry_the_whole_path(self, default: Any) -> None:
        found = problems_of(default, retriever__fusion__k=-1, retriever__sparse_index__b=7.0)
        assert {problem.partition(":")[0] for problem in found} == {"retriever.fusion.k", "retriever.sparse_index.b"}

    @pytest.mark.parametrize("rate", [-0.1, 1.5])
    @pytest.mark.parametrize("name", ["max_failure_rate", "max_unparsable_rate"])
    def test_failure_rates_outside_0_to_1_are_rejected(self, default: Any, name: str, rate: float) -> None:
        (problem,) = problems_of(default, **{f"run__{name}": rate})
        assert problem.startswith(f"run.{name}:")

    def test_experiment_without_a_name_is_rejected(self, default: Any) -> None:
        (problem,) = problems_of(default, experiment__name=" ")
        assert problem.startswith("experiment.name:")

    def test_invalid_combination_is_reported_with_invalid_values(self, default: Any) -> None:
        found = problems_of(default, chunk__overlap=1.5, chunk__size=0, top_k=200)
        assert {problem.partition(":")[0] for problem in found} == {"chunk.overlap", "chunk.size", "top_k"}
