"""Refined texts are searched and read; hits in them are shown and scored by the original texts."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from components.records import Documents, RefinedDocuments
from components.refiners.pieces import assemble_documents, copy_piece
from components.retrievers.oracle import Oracle
from runner.engine.store import Store
from runner.pipeline.cell_graph import Graph
from runner.pipeline.corpus.chunk_stages import Chunks
from runner.pipeline.corpus.original_places import OriginalSpans
from runner.pipeline.corpus.refined_corpora import RefinedCorpus
from runner.pipeline.result import CellSummary
from tests.runner.pipeline.fixed import FixedData, LastFirst, bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import RANKING_ONLY, cells_in, own_data, read_or_make, run_small, samples_in

TEXTS = dict(zip(FixedData().load().documents.ids, FixedData().load().documents.texts, strict=True))


def results(folder: Path, **fields: Any) -> tuple[Graph, CellSummary]:
    """The results of a fixed cell over refined texts."""
    store = Store(folder)
    graph = graph_in(store, fixed_cell(**({"refiner": LastFirst(), "retriever": bm25()} | fields)))
    run_all(store, graph.result)
    return graph, read_or_make(graph.result, store)


def test_graph_without_a_refiner_searches_the_original_corpus(tmp_path: Path) -> None:
    graph = graph_in(Store(tmp_path), fixed_cell())
    stages = list(graph.result.upstream())
    (chunks,) = [stage for stage in stages if isinstance(stage, Chunks)]
    assert chunks.corpus is graph.data.corpus
    assert not any(isinstance(stage, RefinedCorpus | OriginalSpans) for stage in stages)


def test_hits_are_reported_in_places_of_the_original_texts(tmp_path: Path) -> None:
    _, summary = results(tmp_path)
    n_in_halves = 0
    for row in summary.samples.to_pylist():
        scores = [hit["score"] for hit in row["retrieved"]]
        assert scores == sorted(scores, reverse=True)
        for hit, following in zip(row["retrieved"], [*row["retrieved"][1:], None], strict=True):
            text = TEXTS[hit["document_id"]]
            assert 0 <= hit["start"] < hit["end"] <= len(text)
            if following and following["score"] == hit["score"]:  # a chunk that holds the word between the halves
                n_in_halves += 1
                assert hit["end"] == len(text)
                assert following["start"] == 0
    assert n_in_halves


def test_removed_document_is_not_found_and_the_refiner_reports_counts(tmp_path: Path) -> None:
    _, summary = results(tmp_path)
    found = {hit["document_id"] for row in summary.samples.to_pylist() for hit in row["retrieved"]}
    assert found == TEXTS.keys() - {"west/tower"}
    assert summary.summary["steps"]["refiner"] == {
        "n_turned": 3,
        "n_samples_without_gold": 0,
        "line": "refiner: turned: 3",
    }


def test_oracle_finds_gold_in_refined_texts(tmp_path: Path) -> None:
    _, summary = results(tmp_path, retriever=Oracle(), top_k=6)
    coverage = summary.samples["score/passage_coverage"].to_pylist()
    assert coverage[:3] == [1.0, 1.0, 1.0]


def test_prompts_contain_refined_texts(tmp_path: Path) -> None:
    _, summary = results(tmp_path, retriever=Oracle(), top_k=6)
    assert " AND " in summary.samples["prompt"].to_pylist()[0]


class Recording(LastFirst):
    seen: ClassVar[list[list[str]]] = []

    def refine(self, documents: Documents) -> RefinedDocuments:
        self.seen.append(list(documents.ids))
        return assemble_documents(documents, [[copy_piece(text)] for text in documents.texts])


def test_parallel_corpora_are_refined_separately(tmp_path: Path) -> None:
    Recording.seen.clear()
    results(tmp_path, refiner=Recording(), dataset=FixedData(side_by_side=True))
    assert Recording.seen == [["east/bridge", "east/harbour"], ["west/mill", "west/tower"]]


class Forgetful(LastFirst):
    def refine(self, documents: Documents) -> RefinedDocuments:
        return super().refine(Documents(documents.ids[1:], documents.titles[1:], documents.texts[1:]))


def test_refiner_that_drops_a_document_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Forgetful: got 3 refined texts for 4 documents"):
        results(tmp_path, refiner=Forgetful())


def test_samples_with_gold_outside_the_refined_texts_are_counted(tmp_path: Path) -> None:
    table = "| toll | 5 |\n| --- | --- |\n| cars | 9 |\n"
    texts = {
        "1932": f"The bridge was opened in May. Many people came. It rained all day.\n\n{table}",
        "other": "No bridge.",
    }
    quotes = ("The bridge was opened in May.", "cars | 9", "It rained all day.")
    gold: list[object] = [*({"document": "1932", "quote": quote} for quote in quotes), "1932"]
    samples = [{"id": f"{n}", "question": "What about the bridge?", "gold": [unit]} for n, unit in enumerate(gold)]
    own = [*own_data(tmp_path, texts, samples), *RANKING_ONLY, "llm=none", "tokenizer=english"]
    assert run_small(tmp_path, [*own, "refiner=tables"]) == 0
    (cell,) = cells_in(tmp_path)
    assert cell.steps["refiner"]["n_samples_without_gold"] == 1, "one sentence beside the table is left"
    assert "samples that lose all of their gold: 1 of 4" in cell.steps["refiner"]["line"]


def test_copy_of_removed_gold_counts_as_gold_in_a_sweep(tmp_path: Path) -> None:
    news = "The old bridge over the river was closed on Monday, since its third pillar had begun to sink into the mud."
    texts = {"a-copy": f"{news} (reprint)", "gold": news, "other": "Nothing about what is asked for is said here."}
    sample = {"id": "1", "question": "Why was the bridge closed?", "references": ["It sinks"], "gold": ["gold"]}
    own = [*own_data(tmp_path, texts, [sample]), *RANKING_ONLY, "llm=none", "tokenizer=english"]
    assert run_small(tmp_path, [*own, "refiner=dedupe"]) == 0
    (cell,) = cells_in(tmp_path)
    assert cell.value("mrr") == 1.0
    assert cell.steps["refiner"]["n_near_duplicates_left_out"] == 1
    assert cell.steps["refiner"]["n_samples_without_gold"] == 1
    assert [hit["document_id"] for hit in samples_in(tmp_path)[0]["retrieved"]] == ["a-copy"]
