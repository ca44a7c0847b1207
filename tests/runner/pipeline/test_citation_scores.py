"""Citations in a cell: the passage that a number names, and metrics that ignore citation marks."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from components.chunkers.budget import Unit
from components.chunkers.sentence import SentencePacking
from components.contexts.packed import PackedContext
from components.generators.refine import Refine
from components.llms.none import NoGenerator
from components.llms.scripted import Scripted
from components.metrics.citations import Citations
from components.metrics.em import ExactMatch
from components.metrics.interval import Intervals
from components.retrievers.closed_book import ClosedBook
from components.retrievers.oracle import Oracle
from runner.engine.store import Store
from runner.pipeline.settings import MetricSettings
from tests.runner.pipeline.fixed import bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import read_or_make

CITED = MetricSettings(
    {"citations": Citations(), "em": ExactMatch()}, Intervals(n_resamples=50), without_citations=True
)


def samples_of(folder: Path, **fields: Any) -> pa.Table:
    """The samples' table of a cell whose answers cite."""
    store = Store(folder, "a run")
    graph = graph_in(store, fixed_cell(**{"metrics": CITED, "llm": Scripted(reply="In 1932 [1]"), **fields}))
    run_all(store, graph.result)
    return read_or_make(graph.result, store).samples


def scores(table: pa.Table, name: str) -> list[float | str]:
    """Return the score of each sample, or the state that explains a missing one."""
    columns = [table[f"score{kind}/citation_{name}"].to_pylist() for kind in ("", "_state")]
    return [state if value is None else value for value, state in zip(*columns, strict=True)]


def test_citation_numbers_name_the_passages_of_the_prompt(tmp_path: Path) -> None:
    """The oracle shows only gold, and the last sample has no gold in the corpus."""
    right = samples_of(tmp_path, retriever=Oracle())
    assert scores(right, "precision") == scores(right, "recall") == [1.0, 1.0, 1.0, "no_gold_in_corpus"]
    wrong = samples_of(tmp_path, retriever=Oracle(), llm=Scripted(reply="In 1932 [9]"))
    assert scores(wrong, "precision") == [0.0, 0.0, 0.0, "no_gold_in_corpus"]
    none = samples_of(tmp_path, retriever=Oracle(), llm=Scripted(reply="In 1932"))
    assert scores(none, "precision") == ["no_citations"] * 3 + ["no_gold_in_corpus"]
    assert scores(none, "recall") == [0.0, 0.0, 0.0, "no_gold_in_corpus"]


def test_merged_passage_has_one_citation_number(tmp_path: Path) -> None:
    small = {"retriever": Oracle(), "chunk": SentencePacking(size=15, unit=Unit.CHAR), "top_k": 2}
    apart = samples_of(tmp_path, **small, llm=Scripted(reply="In 1932 [2]"))
    assert scores(apart, "precision")[0] == 1.0
    merged = samples_of(tmp_path, **small, llm=Scripted(reply="In 1932 [2]"), context=PackedContext(merge=True))
    assert scores(merged, "precision")[0] == 0.0


def test_metrics_without_citations_ignore_citation_marks(tmp_path: Path) -> None:
    table = samples_of(tmp_path, retriever=Oracle())
    assert table["answer"][0].as_py() == "In 1932 [1]"
    assert table["score/em"][0].as_py() == 1.0


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"retriever": ClosedBook()}, "not_applicable"),
        ({"llm": NoGenerator()}, "not_applicable"),
        ({"llm": Scripted(error_on="?")}, "answer_error"),
    ],
)
def test_cells_without_citations_report_the_reason(tmp_path: Path, fields: dict[str, Any], state: str) -> None:
    table = samples_of(tmp_path, **{"retriever": bm25(), **fields})
    assert scores(table, "precision") == scores(table, "recall") == [state] * 4


def test_passages_shown_alone_keep_their_citation_numbers(tmp_path: Path) -> None:
    """The last request's prompt shows its passage with the number that the passage has among all."""
    table = samples_of(tmp_path, retriever=bm25(), generator=Refine("{prompt} {answer}"))
    for prompt, path in zip(table["prompt"].to_pylist(), table["generation"].to_pylist(), strict=True):
        assert f"Sources:\n[{path.split()[0]}] " in prompt
