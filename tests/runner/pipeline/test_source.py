"""Documents that are read by themselves."""

import json
from pathlib import Path

import pytest

from components.datasets import document_source
from components.datasets.file_content import ReadingOptions
from components.datasets.jsonl import Jsonl
from tests.runner.sweeping import FEW_METRICS, cells_in, entries_by_kind, run_small, store_of

QUESTION = {"id": "1", "question": "When was the bridge opened?", "references": ["In 1932"], "gold": ["bridge.md"]}


@pytest.fixture
def jsonl_overrides(tmp_path: Path) -> list[str]:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bridge.md").write_text("The bridge was opened in 1932.", encoding="utf-8")
    ask(tmp_path, QUESTION)
    files = [f"dataset.documents={tmp_path / 'docs'}", f"dataset.samples={tmp_path / 'questions.jsonl'}"]
    return ["dataset=jsonl", *files, "dataset.limit=null", "llm=none", *FEW_METRICS]


def ask(folder: Path, *questions: dict[str, object]) -> None:
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
