"""Documents that are read by themselves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from components.datasets import document_source
from components.datasets.file_content import ReadingOptions
from components.datasets.jsonl import Jsonl
from components.datasets.part import Part
from components.protocols import separate_source
from components.records import Benchmark
from runner.engine.store import Store
from runner.pipeline.corpus.loaded_data import load_data
from tests.runner.sweeping import FEW_METRICS, cells_in, entries_by_kind, read_or_make, run_small, store_of

QUESTION = {"id": "1", "question": "When was the bridge opened?", "references": ["In 1932"], "gold": ["bridge.md"]}


@pytest.fixture
def jsonl_overrides(tmp_path: Path) -> list[str]:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bridge.md").write_text("The bridge was opened in 1932.", encoding="utf-8")
    ask(tmp_path, QUESTION)
    files = [f"dataset.documents={tmp_path / 'docs'}", f"dataset.samples={tmp_path / 'questions.jsonl'}"]
    return ["dataset=jsonl", *files, "dataset.limit=null", "llm=none", *FEW_METRICS]


def ask(folder: Path, *questions: Mapping[str, object]) -> None:
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")


def test_edited_question_does_not_read_the_documents_again(
    tmp_path: Path, jsonl_overrides: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_small(tmp_path, jsonl_overrides) == 0

    def read_again(path: Path, options: ReadingOptions) -> None:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(document_source, "read_documents", read_again)
    ask(tmp_path, QUESTION, {**QUESTION, "id": "2", "question": "What was opened in 1932?"})
    assert run_small(tmp_path, jsonl_overrides, sweep_id="again") == 0
    (cell,), (again,) = cells_in(tmp_path), cells_in(tmp_path, "again")
    assert (cell.dataset["n_samples"], again.dataset["n_samples"]) == (1, 2)
    assert again.reused["chunks"]
    entries = entries_by_kind(store_of(tmp_path))
    assert (len(entries["source"]), len(entries["data"]), len(entries["corpus"])) == (1, 2, 1)


def test_document_added_to_a_folder_is_read(tmp_path: Path, jsonl_overrides: list[str]) -> None:
    assert run_small(tmp_path, jsonl_overrides) == 0
    (tmp_path / "docs" / "tower.md").write_text("The tower is red.", encoding="utf-8")
    assert run_small(tmp_path, jsonl_overrides, sweep_id="again") == 0
    assert cells_in(tmp_path, "again")[0].dataset["n_documents"] == 2


def test_loading_over_the_source_equals_loading_directly(tmp_path: Path, jsonl_overrides: list[str]) -> None:
    dataset = Jsonl(str(tmp_path / "docs"), str(tmp_path / "questions.jsonl"))
    assert dataset.source is not None
    assert dataset.load_over(*dataset.source.read()) == dataset.load()


@dataclass(frozen=True)
class FirstQuestion(Jsonl):
    """Defines only `load`, as a user's class may."""

    def load(self) -> Benchmark:
        benchmark = super().load()
        return replace(benchmark, samples=benchmark.samples[:1])


def test_overridden_load_is_called_by_the_runner(tmp_path: Path, jsonl_overrides: list[str]) -> None:
    ask(tmp_path, QUESTION, {**QUESTION, "id": "2", "question": "What was opened in 1932?"})
    whole = Jsonl(str(tmp_path / "docs"), str(tmp_path / "questions.jsonl"))
    first = FirstQuestion(whole.documents, whole.samples)
    store = Store(tmp_path / "store", run_id="x")
    loaded = [read_or_make(load_data(each, store).loaded, store) for each in (whole, first)]
    assert [len(benchmark.samples) for benchmark in loaded] == [2, 1]
    assert [benchmark.notes["n_samples"] for benchmark in loaded] == [2, 1]
    assert [benchmark.notes["n_samples_without_gold_in_corpus"] for benchmark in loaded] == [0, 0]
    assert [separate_source(Part(each)) is None for each in (whole, first)] == [False, True]
