"""Ranks of hits in the earlier rankings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.records import ChunkOrigins, Hits, Spans
from components.retrievers.hybrid import Hybrid
from components.retrievers.multi_arm import MultiArm
from runner.pipeline.search.hit_columns import hit_table
from runner.pipeline.search.hit_ranks import search_names
from tests.runner.sweeping import RANKING_ONLY, run_small, samples_in, small_request


def spans(n: int) -> Spans:
    return Spans(np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.int32), np.ones(n, dtype=np.int32))


def hits(*rows: list[int]) -> Hits:
    chunk = np.array(rows, dtype=np.int32)
    return Hits(chunk, np.where(chunk < 0, -np.inf, -np.arange(chunk.shape[1])).astype(np.float32))


def test_hit_ranks_restart_with_every_sample() -> None:
    table = hit_table(hits([4, 2, -1], [-1, -1, -1], [2, 3, 1]), spans(5))
    assert table.row.tolist() == [0, 0, 2, 2, 2]
    assert table.rank.tolist() == [1, 2, 1, 2, 3]


def test_all_places_of_one_chunk_have_one_rank() -> None:
    places = ChunkOrigins(*(np.zeros(4, dtype=np.int32),) * 3, chunk=np.array([0, 0, 1, 2], dtype=np.int32))
    table = hit_table(hits([3, 0, 1, 2], [0, 1, -1, -1]), places)
    assert table.chunk.tolist() == [2, 0, 0, 1, 0, 0]
    assert table.rank.tolist() == [1, 2, 2, 3, 1, 1]


def retrieved(folder: Path, *overrides: str) -> list[list[dict[str, Any]]]:
    assert run_small(folder, ["llm=none", "retriever.depth=8", *RANKING_ONLY, *overrides]) == 0
    return [row["retrieved"] for row in samples_in(folder)]


def test_searches_and_the_reranker_have_separate_ranks(tmp_path: Path) -> None:
    rows = retrieved(tmp_path, "retriever=hybrid_rerank", "embedder=hashing")
    for row in rows:
        before = [hit["rank_before_rerank"] for hit in row]
        assert sorted(before) == list(range(1, len(row) + 1))
        for name in ("rank_dense", "rank_sparse"):
            known = [hit[name] for hit in row if hit[name] is not None]
            assert len(set(known)) == len(known) <= 8
            assert set(known) <= set(range(1, 9))
        assert all(hit["rank_dense"] or hit["rank_sparse"] for hit in row)
    assert any(hit["rank_before_rerank"] != hit["rank"] for row in rows for hit in row)
    assert any(hit["rank_dense"] is None for row in rows for hit in row)


def test_parent_chunk_has_the_search_rank_of_its_best_part(tmp_path: Path) -> None:
    rows = retrieved(tmp_path, "retriever=bm25", "chunk=parents")
    for row in rows:
        assert all((hit["rank_dense"], hit["rank_before_rerank"]) == (None, None) for hit in row)
        sparse = [hit["rank_sparse"] for hit in row]
        assert sparse == sorted(set(sparse))
        assert all(own >= hit["rank"] for own, hit in zip(sparse, row, strict=True))
    assert any(hit["rank_sparse"] > hit["rank"] for row in rows for hit in row), "parts of one chunk were found"


def test_two_sparse_searches_have_separate_rank_columns() -> None:
    hybrid = small_request("retriever=hybrid").cell.retriever
    assert isinstance(hybrid, Hybrid)
    assert search_names(hybrid) == [("dense",), ("sparse",)]
    dense, sparse = hybrid.arms
    searches = {"vectors": dense, "words": sparse, "bigrams": sparse}
    three = MultiArm(searches, {}, hybrid.fusion)
    assert search_names(three) == [("dense",), ("sparse", "words"), ("sparse", "bigrams")]
    assert search_names(MultiArm(searches, {"bigrams": 0.0}, hybrid.fusion)) == search_names(hybrid)


def test_picked_passages_have_no_rank_in_any_search(tmp_path: Path) -> None:
    rows = retrieved(tmp_path, "retriever=oracle")
    ranks = {hit[name] for row in rows for hit in row for name in ("rank_dense", "rank_sparse", "rank_before_rerank")}
    assert ranks == {None}
    assert all(hit["gold_grade"] == 1 for row in rows for hit in row)


@pytest.mark.parametrize("n_columns", [0, 2])
def test_missing_hits_have_no_rank(n_columns: int) -> None:
    table = hit_table(
        Hits(np.full((3, n_columns), -1, dtype=np.int32), np.zeros((3, n_columns), dtype=np.float32)), spans(1)
    )
    assert len(table.rank) == len(table.row) == 0
