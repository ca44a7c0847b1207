"""Cells whose hits come from an index that already exists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.chunkers.budget import Unit
from components.chunkers.sentence import SentencePacking
from components.diversity.mmr_by_vectors import MmrByVectors
from components.filters.metadata import ByMetadata
from components.fusions.rrf import ReciprocalRank
from components.protocols import Fusion
from components.records import Condition, IndexedText
from components.tokenizers.character_bigrams import CharacterBigrams
from runner.engine.store import Store
from runner.pipeline.result import CellSummary
from tests.runner.pipeline.fixed import FixedIndex, LetterCounts, fixed_cell, graph_in
from tests.runner.pipeline.test_custom_pipeline import result_of, rows

OUTSIDE = "Nothing of all this is true."


@dataclass(frozen=True)
class Finds(FixedIndex):
    """Finds the same texts for every query."""

    texts: tuple[str, ...] = ()
    fusion: Fusion | None = None  # type: ignore[assignment, misc]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[Sequence[IndexedText]]:
        for _ in queries:
            yield [IndexedText(text, str(number)) for number, text in enumerate(self.texts)]


def index_result(folder: Path, **fields: Any) -> CellSummary:
    return result_of(folder, fixed_cell(**{"retriever": FixedIndex(), **fields}))


def places(row: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    return [(hit["document_id"], hit["start"], hit["end"], hit["rank"]) for hit in row["retrieved"]]


def test_index_hits_are_located_and_missing_hits_keep_their_rank(tmp_path: Path) -> None:
    result = index_result(tmp_path)
    row = rows(result)["q1"]
    assert sorted(places(row)[:2]) == [("east/bridge", 0, 30, 2), ("east/harbour", 0, 20, 3)] or sorted(
        places(row)[:2]
    ) == [("east/bridge", 0, 30, 3), ("east/harbour", 0, 20, 2)]
    assert places(row)[2][:1] == ("east/harbour",)
    assert row["score/mrr"] in (1 / 2, 1 / 3)
    assert OUTSIDE in row["prompt"]
    facts = result.summary["steps"]["retriever"]
    n = result.summary["n_samples"]
    assert facts["line"].startswith(f"{n} of {6 * n} hits of the index are not in the corpus; they keep their ranks")
    assert {name: facts[name] / n for name in facts if name != "line"} == {
        "n_hits": 6,
        "n_not_in_corpus": 1,
        "n_near_copies": 1,
        "n_repeated": 1,
        "n_without_text": 1,
    }


def test_hits_outside_the_corpus_alone_score_zero(tmp_path: Path) -> None:
    result = index_result(tmp_path, retriever=Finds(texts=(OUTSIDE, "Neither is this.")))
    row = rows(result)["q1"]
    assert row["retrieved"] == []
    assert row["score/mrr"] == 0.0
    assert row["score/passage_coverage"] == 0.0
    assert row["score/context_tokens"] > 0


def test_existing_index_that_finds_nothing_fails_the_stage(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"Finds found nothing for any of 4 queries\. Check that the index"):
        index_result(tmp_path, retriever=Finds())


def test_index_with_more_hits_than_requested_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="query 0 has 7 hits, expected at most 6"):
        index_result(tmp_path, retriever=Finds(texts=tuple("abcdefg")))


def test_diversification_reads_the_hits_of_an_existing_index(tmp_path: Path) -> None:
    """Diversity by vectors embeds the located texts, and those outside the corpus too."""
    found = rows(index_result(tmp_path, diversity=MmrByVectors(LetterCounts(), 0.5, depth=4)))
    assert {len(row["retrieved"]) for row in found.values()} == {3}


def test_index_building_axes_do_not_change_an_existing_index_cell(tmp_path: Path) -> None:
    store = Store(tmp_path)
    other: dict[str, Any] = {
        "chunk": SentencePacking(size=90, unit=Unit.CHAR),
        "filter": ByMetadata({"place": Condition(equals=("west",))}),
        "tokenizer": CharacterBigrams(),
    }
    cell = fixed_cell(retriever=FixedIndex())
    one, another = graph_in(store, cell), graph_in(store, replace(cell, **other))
    assert one.result.key == another.result.key
    assert not {"chunk", "filter", "header", "refiner", "vector_index"} & one.used
    assert {"retriever", "embedder", "reranker", "top_k"} <= one.used


def test_index_depth_and_settings_change_the_key(tmp_path: Path) -> None:
    store = Store(tmp_path)
    keys = {
        graph_in(store, fixed_cell(retriever=own)).result.key
        for own in (
            FixedIndex(),
            FixedIndex(depth=5),
            Finds(texts=("a",)),
            Finds(texts=("a",), fusion=ReciprocalRank()),
        )
    }
    assert len(keys) == 4


def test_key_repeated_by_a_search_server_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SEARCH_KEY", "svc:x7Qm2f9LkT4vWz8RbN3c")
    texts = ("sent with svc:x7Qm2f9LkT4vWz8RbN3c", "the password is x7Qm2f9LkT4vWz8RbN3c")
    result = index_result(tmp_path, retriever=Finds(texts=texts))
    assert "the password is ***" in rows(result)["q1"]["prompt"]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"x7Qm2f9LkT4vWz8RbN3c" in file.read_bytes()]
