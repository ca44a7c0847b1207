"""Texts beyond a model's limit are counted, separately for chunks and queries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.retrievers.dense import Dense
from components.vector_indexes.faiss_index import Flat
from runner.engine.store import Store
from runner.engine.worker import read_cached
from runner.pipeline.ranking.truncated_texts import TruncatedTexts
from tests.runner.pipeline.fixed import FirstLetters, LetterCounts, ReadsCharacters, bm25, fixed_cell, graph_in, run_all


@dataclass(frozen=True)
class Unlimited(FirstLetters):
    limit: int | None = None

    def count_chunk_tokens(self, texts: object) -> Any:
        raise AssertionError("nothing is cut off, so nothing need be counted")


def counted(folder: Path, **fields: Any) -> list[dict[str, Any]]:
    store = Store(folder)
    graph = graph_in(store, fixed_cell(**fields))
    run_all(store, graph.result)
    summary: dict[str, Any] = read_cached(graph.result, store, lambda entry: entry.part("summary"))
    return list(summary["cut_texts"])


def test_texts_beyond_the_token_limit_are_counted_with_their_tokens(tmp_path: Path) -> None:
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(retriever=Dense(FirstLetters(), Flat(), depth=6)))
    run_all(store, graph.result)
    chunks, queries = counted(tmp_path, retriever=Dense(FirstLetters(), Flat(), depth=6))
    (stage,) = [s for s in graph.result.upstream() if isinstance(s, TruncatedTexts) and hasattr(s.passages, "chunks")]
    spans = read_cached(stage.passages.chunks, store, lambda entry: entry.parts())  # type: ignore[union-attr]
    lengths = spans["end"] - spans["start"]
    assert chunks == {
        "model": "FirstLetters",
        "texts": "chunks",
        "n": len(lengths),
        "n_cut": np.count_nonzero(lengths > 40),
        "limit": 40,
        "longest": lengths.max(),
        "n_tokens": lengths.sum(),
        "n_tokens_cut": lengths[lengths > 40].sum() - 40 * np.count_nonzero(lengths > 40),
    }
    assert 0 < chunks["n_cut"] < chunks["n"]
    assert queries["texts"] == "queries"


def test_query_prefix_counts_towards_the_token_limit(tmp_path: Path) -> None:
    with_it, without = (
        counted(tmp_path / str(limit), retriever=Dense(FirstLetters(limit), Flat(), depth=6))[1]
        for limit in (1, 10_000)
    )
    assert with_it["n_cut"] == with_it["n"] > 0
    assert without["n_cut"] == 0
    assert without["longest"] == with_it["longest"]


@pytest.mark.parametrize("retriever", [bm25(), Dense(LetterCounts(), Flat(), depth=6)], ids=["bm25", "no limit known"])
def test_cut_texts_are_counted_only_for_models_that_read_tokens(tmp_path: Path, retriever: Any) -> None:
    assert counted(tmp_path, retriever=retriever) == []


def test_cut_pairs_of_a_reranker_are_counted(tmp_path: Path) -> None:
    reranker = ReadsCharacters(depth=3, limit=60)
    reranker.scored.clear()
    (pairs,) = counted(tmp_path, retriever=bm25(), reranker=reranker)
    assert (pairs["model"], pairs["texts"], pairs["limit"]) == ("ReadsCharacters", "pairs", 60)
    lengths = np.array([len(query) + 1 + len(chunk) for query, chunk in reranker.scored])
    assert pairs["n"] == len(lengths) > 0
    assert 0 < pairs["n_cut"] == np.count_nonzero(lengths > 60) < len(lengths)
    assert (pairs["longest"], pairs["n_tokens"]) == (lengths.max(), lengths.sum())
    assert pairs["n_tokens_cut"] == (lengths - 60)[lengths > 60].sum()
    (same,) = counted(tmp_path / "none", retriever=bm25(), reranker=ReadsCharacters(depth=3, limit=None))
    assert (same["n"], same["n_cut"]) == (len(lengths), 0)


def test_model_without_a_token_limit_cuts_no_text(tmp_path: Path) -> None:
    for cut in counted(tmp_path, retriever=Dense(Unlimited(), Flat(), depth=6)):
        assert (cut["n_cut"], cut["limit"]) == (0, None)
