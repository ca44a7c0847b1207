"""Metadata of a user's documents: read from JSON Lines, and stored with the right document."""

from pathlib import Path

import pytest

from components.datasets.document_files import read_documents
from components.datasets.jsonl import Jsonl
from components.errors import DataError
from components.records import Documents
from tests.datasets.test_beir import write_lines


def load(folder: Path, *documents: object) -> Documents:
    write_lines(folder / "documents.jsonl", documents)
    write_lines(folder / "samples.jsonl", [{"id": "1", "question": "When?"}])
    return Jsonl(str(folder / "documents.jsonl"), str(folder / "samples.jsonl")).load().documents


def test_metadata_follows_its_document_after_sorting_and_dropping(tmp_path: Path) -> None:
    documents = load(
        tmp_path,
        {"id": "c", "text": "third", "metadata": {"date": "2024-03-01", "page": 3}},
        {"id": "b", "text": " ", "metadata": {"date": "1999-01-01"}},
        {"id": "a", "text": "first"},
    )
    assert list(documents.ids) == ["a", "c"]
    assert list(documents.metadata) == [{}, {"date": "2024-03-01", "page": "3"}]


def test_metadata_is_empty_if_no_document_has_any(tmp_path: Path) -> None:
    documents = load(
        tmp_path, {"id": "a", "text": "first", "metadata": {}}, {"id": "b", "text": "", "metadata": {"a": "b"}}
    )
    assert documents.metadata == ()


@pytest.mark.parametrize("metadata", ["2024", ["2024"], {"tags": [["x"]]}, {"author": {"name": "X"}}])
def test_invalid_metadata_is_refused_with_its_line(tmp_path: Path, metadata: object) -> None:
    write_lines(tmp_path / "documents.jsonl", [{"text": "one"}, {"text": "two", "metadata": metadata}])
    with pytest.raises(DataError, match=r"documents\.jsonl, line 2, field 'metadata'"):
        read_documents(tmp_path / "documents.jsonl")


def test_lone_surrogate_in_metadata_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: \\ud800 is half of a character"):
        load(tmp_path, {"id": "a", "text": "first", "metadata": {"place": "\ud800"}})
