"""Custom searches next to built-in retrievers, from the command line to the results."""

from pathlib import Path

import pytest

from components.errors import ConfigError
from components.prices import NO_PRICES
from runner.engine.spending.ledger import NO_BUDGET
from runner.launch.sweep import EXIT_CELL_FAILED
from runner.output.money import bound_lines
from runner.results import load, sample_verdicts
from runner.serving.exporting.exported_cell import collect_export
from tests.runner.sweeping import (
    FEW_METRICS,
    QUIET,
    SMALL,
    cells_in,
    only_sweep,
    plan_small,
    run_small,
)

CODE = """
import os

from components.datasets.demo import Demo

DOCUMENTS = Demo().load().documents.texts


def find(query, top_k, length=200):
    with open(os.environ["ASKED_OF_TESTS"], "a") as log:
        log.write(f"{query!r}\\n")
    ranked = sorted(DOCUMENTS, key=lambda text: -len(set(text) & set(query)))
    return ["nowhere to be found", *(text[:length] for text in ranked)][:top_k]


def failing(query):
    if len(query) % 3 == 0:
        raise ValueError("no luck")
    return DOCUMENTS[:3]


def nothing(query):
    return []
"""
CELL = (*SMALL, *FEW_METRICS, *QUIET, "run.plugins=[my_search_of_tests]", "top_k=3")
OWN = (*CELL, "retriever=python", "retriever.call=my_search_of_tests.search:find", "retriever.depth=6")


@pytest.fixture(autouse=True)
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "my_search_of_tests"
    package.mkdir()
    monkeypatch.setenv("ASKED_OF_TESTS", str(tmp_path / "asked.txt"))
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "search.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return package


def logged_queries(folder: Path) -> list[str]:
    path = folder / "asked.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_custom_search_joins_cells_that_differ_in_unused_axes(tmp_path: Path) -> None:
    own = [(*OWN, f"chunk.size={size}", f"embedder={name}") for size, name in ((64, "hashing"), (128, "lsa"))]
    assert run_small(tmp_path, CELL, *own) == 0
    built_in, searched = sorted(cells_in(tmp_path), key=lambda cell: str(cell.axes["retriever"]))
    assert (built_in.axes["retriever"], searched.axes["retriever"]) == ("bm25", "python")
    assert searched.axes["chunk.size"] is searched.axes["embedder"] is None
    assert searched.value("passage_coverage") is not None
    assert searched.value("context_tokens")
    facts = searched.steps["retriever"]
    assert facts.pop("line").startswith("12 of 72 hits of the index are not in the corpus")
    assert facts == {
        "n_hits": 72, "n_not_in_corpus": 12, "n_near_copies": 0, "n_repeated": 0, "n_without_text": 0,
    }  # fmt: skip
    assert len(logged_queries(tmp_path)) == 12


def test_plan_counts_custom_searches_until_their_hits_are_cached(tmp_path: Path) -> None:
    plan = plan_small(tmp_path, CELL, OWN, (*OWN, "top_k=2"), (*OWN, "+retriever.parameters.length=50")).plan
    assert {count.title: (count.n_requests, count.n_tokens) for count in plan.requests} == {
        "search in an existing index": (24, 0)
    }
    assert bound_lines(plan, NO_BUDGET, NO_PRICES) == []
    assert logged_queries(tmp_path) == []
    run_small(tmp_path, OWN)
    plan = plan_small(tmp_path, OWN, (*OWN, "+retriever.parameters.length=50")).plan
    assert plan.n_requests == 12


def test_edited_search_is_called_again_once(tmp_path: Path, app: Path) -> None:
    for sweep_id in ("first", "again"):
        run_small(tmp_path, OWN, sweep_id=sweep_id)
    assert len(logged_queries(tmp_path)) == 12
    (app / "search.py").write_text(CODE.replace("length=200", "length=100"), encoding="utf-8")
    run_small(tmp_path, OWN, sweep_id="edited")
    assert len(logged_queries(tmp_path)) == 24


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("failing", "retriever=python: my_search_of_tests.search:failing: ValueError at my_search_of_tests.search:"),
        ("nothing", "retriever: PythonRetriever found nothing for any of 12 queries"),
    ],
)
def test_failing_search_gives_no_metrics(tmp_path: Path, name: str, reason: str) -> None:
    own = (*CELL, "retriever=python", f"retriever.call=my_search_of_tests.search:{name}")
    assert run_small(tmp_path, CELL, own) == EXIT_CELL_FAILED
    (failed,) = [cell for cell in cells_in(tmp_path) if cell.status != "OK"]
    assert reason in failed.reason
    assert failed.metrics == {}


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (["retriever.call=os.system"], "retriever.call: got 'os.system' (str), expected a dotted path in a package of"),
        (["retriever.call=my_search_of_tests.search.absent"], "retriever.call: got 'my_search_of_tests.search.absent'"),
        (["+retriever.parameters.size=1"], "retriever.call: got 'my_search_of_tests.search:find', which cannot be"),
        (["top_k=9"], "top_k: got 9, more than retriever.depth=6"),
    ],
)
def test_unusable_search_is_rejected_by_the_plan(tmp_path: Path, overrides: list[str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_small(tmp_path, (*OWN, *overrides))
    assert any(each.startswith(problem) for each in caught.value.problems), caught.value.problems


def test_search_cell_is_not_exportable_and_its_failures_are_explained(tmp_path: Path) -> None:
    run_small(tmp_path, OWN)
    sweep = load(only_sweep(tmp_path))
    (cell,) = sweep.cells
    with pytest.raises(ConfigError, match=r"searches an index of your own.*. Deploy your search as it is"):
        collect_export(sweep, cell)
    assert len(sample_verdicts(sweep, cell)) == 12
