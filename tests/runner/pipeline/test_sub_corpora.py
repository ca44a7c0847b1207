"""Several corpora side by side: each query finds only documents of its own corpus."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.records import Benchmark, Documents, Evidence, Kind, Passages, Sample, Terms
from runner.pipeline.corpus import sub_corpora as parts
from runner.pipeline.corpus.sub_corpora import SubCorpus
from tests.runner.sweeping import QUIET, RANKING_ONLY, cells_in, run_small

_TEXTS = {
    "a/1": "red apples and green pears",
    "a/2": "the market for apples is small",
    "b/1": "apples grow on trees in the garden",
    "b/2": "cars need fuel and roads",
    "b/3": "roads and bridges in the north",
}


def benchmark(several: bool) -> Benchmark:
    documents = Documents(list(_TEXTS), [""] * len(_TEXTS), list(_TEXTS.values()))
    samples = tuple(
        Sample(
            f"{name}-{i}",
            name,
            Kind.QA,
            question,
            ("x",),
            (Evidence(gold),),
            corpus_prefix=f"{name}/" if several else "",
        )
        for i, (name, question, gold) in enumerate(
            [("b", "where do apples grow", "b/1"), ("a", "market for apples", "a/2"), ("b", "fuel for cars", "b/2")]
        )
    )
    return Benchmark(documents, samples)


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
@pytest.mark.parametrize("vector_index", ["flat", "hnsw"])
def test_hits_come_only_from_the_corpus_of_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retriever: str, vector_index: str
) -> None:
    from components.datasets.demo import Demo

    monkeypatch.setattr(Demo, "load", lambda self: benchmark(several=True))
    overrides = (
        f"retriever={retriever}",
        f"vector_index={vector_index}",
        "tokenizer=english",
        "top_k=1",
        *QUIET,
        *RANKING_ONLY,
    )
    assert run_small(tmp_path, overrides) == 0
    (cell,) = cells_in(tmp_path)
    rows = _samples(tmp_path, cell.cell_id)
    assert len(rows) == 3
    for row in rows:
        found = {hit["document_id"][0] for hit in row["retrieved"]}
        assert found == {row["subset"]}


def test_reranking_a_sub_corpus_ignores_other_sub_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of words come from the sample's own corpus, so a second corpus changes nothing."""
    from components.datasets.demo import Demo

    scores = []
    for names in ("ab", "b"):
        whole = benchmark(several=True)
        positions = [i for i, name in enumerate(whole.documents.ids) if name[0] in names]
        documents = Documents(
            *(
                [column[i] for i in positions]
                for column in (whole.documents.ids, whole.documents.titles, whole.documents.texts)
            )
        )
        samples = tuple(sample for sample in whole.samples if sample.subset in names)
        monkeypatch.setattr(Demo, "load", lambda self, own=(documents, samples): Benchmark(*own))
        folder = tmp_path / names
        overrides = ("retriever=bm25", "reranker=lexical", "tokenizer=english", *QUIET, *RANKING_ONLY)
        assert run_small(folder, overrides) == 0
        (cell,) = cells_in(folder)
        rows = {row["id"]: row["retrieved"] for row in _samples(folder, cell.cell_id)}
        scores.append([(hit["document_id"], hit["score"]) for hit in rows["b-0"] + rows["b-2"]])
    assert scores[0] == scores[1]
    assert len(scores[0]) == 2


def test_samples_without_sub_corpora_search_all_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from components.datasets.demo import Demo

    monkeypatch.setattr(Demo, "load", lambda self: benchmark(several=False))
    assert run_small(tmp_path, ("retriever=bm25", "tokenizer=english", "top_k=1", *QUIET, *RANKING_ONLY)) == 0
    (cell,) = cells_in(tmp_path)
    found = {hit["document_id"][0] for row in _samples(tmp_path, cell.cell_id) for hit in row["retrieved"]}
    assert found == {"a", "b"}


def _samples(folder: Path, cell_id: str) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    path = folder / "results" / "a-sweep" / cell_id / "samples.parquet"
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_index_parts_are_joined_and_taken_separately() -> None:
    joined = parts.join([{"x": np.array([0])}, {"x": np.array([1])}])
    assert parts.arrays_of_part(joined, SubCorpus(1))["x"].tolist() == [1]
    assert parts.arrays_of_part(parts.join([{"x": np.array([7])}]), SubCorpus())["x"].tolist() == [7]


def test_selected_passages_keep_their_terms() -> None:
    terms = Terms(np.arange(6, dtype=np.int32), np.array([0, 2, 4]), np.array([2, 4, 6]), 6)
    passages = Passages(["a", "b", "c"], terms, ["A", "B", "C"])
    chosen = parts.rows(passages, np.array([2, 0]))
    assert (list(chosen.texts), list(chosen.titles)) == (["c", "a"], ["C", "A"])
    assert chosen.terms is not None
    assert chosen.terms.row(0).tolist() == [4, 5]
    sliced = parts.rows(passages, slice(1, 3))
    assert (list(sliced.texts), list(sliced.titles)) == (["b", "c"], ["B", "C"])
    assert sliced.terms is not None
    assert sliced.terms.row(0).tolist() == [2, 3]
    assert parts.rows(passages, slice(None)) is passages
