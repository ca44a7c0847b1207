"""Retrievers without a search, in whole cells."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from runner.pipeline.component_conflicts import combination_problems
from tests.runner.sweeping import FEW_METRICS, cells_in, run_small, small_graph, small_request

QUESTIONS = [
    {
        "id": str(i),
        "question": f"When was bridge {i} opened?",
        "references": [f"19{i}2"],
        "passages": [
            {"text": f"Bridge {i} was opened in 19{i}2. " * 20, "relevant": True},
            *(f"Noise {j} of bridge {i}." for j in range(4)),
        ],
    }
    for i in range(1, 4)
]


def test_oracle_finds_all_gold_and_nothing_else(tmp_path: Path) -> None:
    assert run_small(tmp_path, ["retriever=oracle", "top_k=50", *FEW_METRICS], ["retriever=bm25", *FEW_METRICS]) == 0
    oracle, bm25 = cells_in(tmp_path)
    assert oracle.value("ndcg@10") == 1.0
    assert oracle.value("passage_coverage") == 1.0
    assert (oracle.value("context_tokens") or 0) > 0
    assert (bm25.value("passage_coverage") or 0) < 1.0


@pytest.mark.parametrize("retriever", ["oracle", "bm25", "hybrid"])
def test_depth_beyond_the_corpus_keeps_all_chunks_without_extra_memory(tmp_path: Path, retriever: str) -> None:
    """A row per sample at this depth would take 800 MB."""
    cell = [f"retriever={retriever}", "llm=none", "metrics=retrieval"]
    n_hits = (5_000, 100_000_000)
    assert run_small(tmp_path, *([*cell, f"retriever.depth={n}", f"top_k={n}"] for n in n_hits)) == 0
    deep, deeper = cells_in(tmp_path)
    assert deep.metrics["overall"] == deeper.metrics["overall"]
    assert deep.cell_id != deeper.cell_id


def test_noise_rate_replaces_relevant_given_passages(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    own = ["dataset=jsonl", f"dataset.samples={file}", "dataset.limit=null", *FEW_METRICS, "retriever=given", "top_k=3"]
    rates = ["0.0", "0.4", "1.0"]
    assert run_small(tmp_path, *([*own, f"retriever.noise_rate={rate}"] for rate in rates)) == 0
    n_relevant = []
    for cell in cells_in(tmp_path):
        rows = pq.read_table(tmp_path / "results" / "a-sweep" / cell.cell_id / "samples.parquet").to_pylist()
        for row in rows:
            gold = {unit["document_id"] for unit in row["gold"]}
            assert len(row["retrieved"]) == 3
            assert all(hit["in_context"] and hit["start"] == 0 for hit in row["retrieved"])
            n_relevant.append(sum(hit["document_id"] in gold for hit in row["retrieved"]))
    assert n_relevant == [1] * 6 + [0] * 3


def test_dataset_name_is_configurable_and_not_part_of_the_cell_id(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    own = ["dataset=jsonl", f"dataset.samples={file}", "dataset.limit=null", *FEW_METRICS, "llm=none"]
    assert run_small(tmp_path, [*own, "dataset.name=bridges"]) == 0
    assert run_small(tmp_path, [*own, "dataset.name=viaducts"], sweep_id="again") == 0
    (cell,), (again,) = cells_in(tmp_path), cells_in(tmp_path, "again")
    assert (cell.dataset["name"], again.dataset["name"]) == ("bridges", "viaducts")
    assert again.cell_id == cell.cell_id
    assert all(again.reused.values())


def test_picked_hits_depend_on_top_k_only_with_noise() -> None:
    def key(*overrides: str) -> str:
        stages = small_graph("retriever=given", *overrides).result.upstream()
        return next(stage.key for stage in stages if stage.kind == "picked_hits")

    assert key("top_k=3") == key("top_k=4") == key("chunk.size=64") == key("chunk=token")
    assert key("top_k=3", "retriever.noise_rate=0.5") != key("top_k=4", "retriever.noise_rate=0.5")
    assert "chunk" not in small_graph("retriever=given").used
    assert "chunk" in small_graph("retriever=oracle").used


def test_oracle_needs_no_fusion_for_several_queries() -> None:
    cell = small_request("retriever=oracle").cell

    class Twice:
        variants = (cell.expander.variants[0],) * 2

    assert combination_problems(5, cell.retriever, Twice()) == []  # type: ignore[arg-type]
