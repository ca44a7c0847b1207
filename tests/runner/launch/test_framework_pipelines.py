"""Chains of LangChain and engines of LlamaIndex in sweeps, and which replies must never become numbers."""

from pathlib import Path

import pytest

from components.errors import ConfigError, DataError
from runner.launch.sweep import EXIT_CELL_FAILED
from runner.results import load, sample_verdicts
from runner.serving.exporting.exported_cell import collect_export
from tests.extras import skip_without
from tests.runner.sweeping import FEW_METRICS, QUIET, SMALL, cells_in, only_sweep, plan_small, run_small

skip_without("langchain_core", extra="langchain")
skip_without("llama_index", extra="llama-index")

CODE = """
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.response.schema import Response
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode

TEXTS = ["This is in no document.", "Nor is this."]


@RunnableLambda
def lying_chain(question):
    if len(question) % 3 == 0:
        raise ConnectionError("no model")
    if len(question) % 3 == 1:
        return {"answer": "x" * 2_000_000, "context": []}
    return {"answer": "yes", "context": [Document(text, metadata={"start_index": 0}) for text in TEXTS]}


class Lies(CustomQueryEngine):
    def custom_query(self, query_str):
        if len(query_str) % 3 == 0:
            raise ConnectionError("no model")
        if len(query_str) % 3 == 1:
            return "x" * 2_000_000
        return Response("yes", source_nodes=[NodeWithScore(node=TextNode(text=text), score=1.0) for text in TEXTS])


lying_engine = Lies()
silent_chain = RunnableLambda(lambda question: "yes")


class Silent(CustomQueryEngine):
    def custom_query(self, query_str):
        return "yes"


silent_engine = Silent()
number_chain = RunnableLambda(lambda question: {"answer": 7})
"""
CELL = (*SMALL, *FEW_METRICS, *QUIET, "run.plugins=[frameworks_of_tests]")
LANGCHAIN = (*CELL, "pipeline=langchain")
LLAMA_INDEX = (*CELL, "pipeline=llama_index")


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "frameworks_of_tests"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "lies.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    "cell",
    [
        (*LANGCHAIN, "pipeline.runnable=frameworks_of_tests.lies:lying_chain"),
        (*LLAMA_INDEX, "pipeline.engine=frameworks_of_tests.lies:lying_engine"),
    ],
    ids=["langchain", "llama_index"],
)
def test_failing_framework_pipeline_is_counted_without_a_score(tmp_path: Path, cell: tuple[str, ...]) -> None:
    assert run_small(tmp_path, cell) == EXIT_CELL_FAILED
    (result,) = cells_in(tmp_path)
    n_ok = result.counts["ok"]
    assert 0 < n_ok < 12
    assert result.counts == {"ok": n_ok, "error": 12 - n_ok}
    assert set(result.errors) == {"other", "malformed"}
    steps = result.steps["pipeline"]
    assert (steps["n_passages"], steps["n_not_in_corpus"]) == (2 * n_ok, 2 * n_ok)
    assert result.value("ndcg@10") in (0.0, None)
    assert result.value("passage_coverage") in (0.0, None)
    assert result.metrics["overall"]["rouge_l"]["n"] <= n_ok


@pytest.mark.parametrize(
    "cell",
    [
        (*LANGCHAIN, "pipeline.runnable=frameworks_of_tests.lies:silent_chain"),
        (*LLAMA_INDEX, "pipeline.engine=frameworks_of_tests.lies:silent_engine"),
    ],
    ids=["langchain", "llama_index"],
)
def test_pipeline_without_passages_has_no_retrieval_metrics(tmp_path: Path, cell: tuple[str, ...]) -> None:
    assert run_small(tmp_path, cell) == 0
    sweep = load(only_sweep(tmp_path))
    (result,) = sweep.cells
    assert result.value("ndcg@10") is result.value("passage_coverage") is None
    assert result.value("rouge_l") is not None
    assert result.steps["pipeline"]["n_samples_without_passages"] == 12
    assert len(sample_verdicts(sweep, result)) == 12
    with pytest.raises(DataError, match="is a pipeline of your own"):
        collect_export(sweep, result)


def test_pipeline_answers_of_a_wrong_type_are_failures(tmp_path: Path) -> None:
    cell = (*LANGCHAIN, "pipeline.runnable=frameworks_of_tests.lies:number_chain")
    assert run_small(tmp_path, cell) == EXIT_CELL_FAILED
    (result,) = cells_in(tmp_path)
    assert (result.counts, result.errors) == ({"error": 12}, {"malformed": 12})
    assert result.value("rouge_l") is None


def test_pipeline_object_of_an_unnamed_package_is_not_imported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.plugins"):
        plan_small(tmp_path, (*LANGCHAIN, "pipeline.runnable=os:system"))
