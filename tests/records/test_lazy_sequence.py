"""Sequences that look their items up: each is read as a list of these would be."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.datasets import texts_on_disk
from components.datasets.file_content import EntryColumns, FileEntry
from components.records import Spans, SpanTexts, TextRows
from runner.pipeline.corpus import document_table as documents

TEXTS = ["ab", "c", "d", "半", "e f"]


@pytest.fixture
def spans() -> SpanTexts:
    columns = np.array([[1, len(text) + 1] for text in TEXTS], dtype=np.int32).T
    return SpanTexts([f"|{text}|" for text in TEXTS], Spans(np.arange(len(TEXTS), dtype=np.int32), *columns))


@pytest.fixture
def rows() -> TextRows:
    return TextRows([*TEXTS[::-1], "more"], np.arange(len(TEXTS), dtype=np.int32)[::-1])


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> Sequence[str]:
    monkeypatch.setattr(texts_on_disk, "MAX_CHARACTERS", 3)
    gathered = texts_on_disk.GatheredTexts()
    for text in TEXTS:
        gathered.append(text)
    texts = gathered.all()
    assert isinstance(texts, texts_on_disk.TextsOnDisk)
    return texts


@pytest.fixture
def column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> documents.DocumentColumn[str]:
    monkeypatch.setattr(documents, "_ROWS_PER_GROUP", 2)
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "table.parquet", row_group_size=2)
    return documents.DocumentColumn(tmp_path / "table.parquet", "text", str)


@pytest.mark.parametrize("name", ["spans", "rows", "on_disk", "column"])
def test_lazy_sequence_behaves_like_a_list(name: str, request: pytest.FixtureRequest) -> None:
    texts: Sequence[str] = request.getfixturevalue(name)
    n = len(TEXTS)
    assert len(texts) == n
    assert list(texts) == TEXTS
    assert [texts[i] for i in range(-n, n)] == [TEXTS[i] for i in range(-n, n)]
    for chosen in (slice(None), slice(1, 3), slice(-2, None), slice(None, None, -2), slice(3, 99), slice(4, 1)):
        assert texts[chosen] == TEXTS[chosen]
    for beyond in (n, -n - 1):
        with pytest.raises(IndexError):
            texts[beyond]


def test_entry_columns_return_entries() -> None:
    entries = EntryColumns(["", "1"], ["a", "b"], ["x", "y"], [{}, {"page": "1"}])
    assert entries[-1] == FileEntry("1", "b", "y", {"page": "1"})
    assert entries[:] == list(entries) == [FileEntry("", "a", "x"), entries[1]]
