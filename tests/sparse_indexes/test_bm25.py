import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from components.datasets.demo import Demo
from components.errors import ComponentError
from components.records import Hits, Passages
from components.sparse_indexes import bm25
from components.sparse_indexes.bm25 import Backend, Bm25, Formula
from components.text.corpus_tables import TermTable, build_term_table
from components.tokenizers.english_stems import EnglishStems
from tests.contracts.passages import index_block, passages, queries_for
from tests.contracts.ranking_checks import rankings_of
from tests.contracts.sparse_index_contract import CHUNKS, SparseIndexContract

LUCENE = Bm25()
OKAPI = Bm25(formula=Formula.OKAPI)
RANK_BM25 = Bm25(formula=Formula.OKAPI, backend=Backend.RANK_BM25)


class TestLucene(SparseIndexContract):
    component = LUCENE


class TestOkapi(SparseIndexContract):
    component = OKAPI


class TestRankBm25(SparseIndexContract):
    component = RANK_BM25


@pytest.fixture
def _compiled_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25, "_COMPILED_FROM", 1)


@pytest.mark.usefixtures("_compiled_search")
class TestCompiledSearch(SparseIndexContract):
    component = LUCENE


@pytest.fixture(scope="module")
def corpus() -> tuple[TermTable, Passages, Passages]:
    """The bundled corpus in pieces of 60 characters, and the questions."""
    benchmark = Demo().load()
    texts = [text[i : i + 60] for text in benchmark.documents.texts for i in range(0, len(text), 60)]
    table = build_term_table(texts, LUCENE.tokenizer)
    questions = [sample.question for sample in benchmark.samples]
    return table, passages(texts, table), queries_for(questions, LUCENE.tokenizer, table)


def search(component: Bm25, corpus: tuple[TermTable, Passages, Passages], depth: int) -> Hits:
    table, chunks, queries = corpus
    return component.search([index_block(component.build(chunks), len(chunks), table)], queries, depth)


def term_rows(given: Passages) -> list[list[int]]:
    assert given.terms is not None
    return [given.terms.row(i).tolist() for i in range(len(given))]


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0), (2.0, 1.0)])
def test_bm25_scores_equal_the_bm25s_package(corpus: tuple[TermTable, Passages, Passages], k1: float, b: float) -> None:
    import bm25s

    table, chunks, queries = corpus
    theirs = bm25s.BM25(k1=k1, b=b, method="lucene")
    vocabulary = {i: i for i in range(len(table.vocabulary))}
    theirs.index((term_rows(chunks), vocabulary), create_empty_token=False, show_progress=False)
    hits = search(dataclasses.replace(LUCENE, k1=k1, b=b), corpus, 10)
    scores = np.where(hits.chunk < 0, 0, hits.score)
    for query, chunk, score in zip(term_rows(queries), hits.chunk, scores, strict=True):
        expected = theirs.get_scores_from_ids(query)
        np.testing.assert_allclose(score, np.sort(expected)[::-1][:10], rtol=1e-5)
        np.testing.assert_allclose(score[chunk >= 0], expected[chunk[chunk >= 0]], rtol=1e-5)


def test_bm25_scores_equal_hand_computed_values() -> None:
    table = build_term_table(["西湖 西湖 故宫", "故宫", "长城 长城"], LUCENE.tokenizer)
    index = index_block(LUCENE.build(passages(["", "", ""], table)), 3, table)
    hits = LUCENE.search([index], queries_for(["西湖 故宫"], LUCENE.tokenizer, table), 3)
    idf_lake, idf_palace = np.log(1 + 2.5 / 1.5), np.log(1 + 1.5 / 2.5)  # in 1 and in 2 of 3 chunks
    saturation = {length: 1.5 * (0.25 + 0.75 * length / 2) for length in (1, 3)}  # 2 words on average
    first = idf_lake * 2 / (2 + saturation[3]) + idf_palace * 1 / (1 + saturation[3])
    second = idf_palace * 1 / (1 + saturation[1])
    assert hits.chunk.tolist() == [[0, 1, -1]]
    np.testing.assert_allclose(hits.score[0, :2], [first, second], rtol=1e-6)


def test_okapi_equals_rank_bm25_without_negative_weights(
    corpus: tuple[TermTable, Passages, Passages],
) -> None:
    _, chunks, queries = corpus
    n_chunks_with = np.bincount(np.concatenate([np.unique(row) for row in term_rows(chunks)]).astype(int))
    plain = [i for i, row in enumerate(term_rows(queries)) if (n_chunks_with[row] * 2 < len(chunks)).all()]
    assert len(plain) >= 50
    ours, theirs = search(OKAPI, corpus, 10), search(RANK_BM25, corpus, 10)
    np.testing.assert_allclose(ours.score[plain], theirs.score[plain], rtol=1e-5)
    assert [rankings_of(ours)[i] for i in plain] == [rankings_of(theirs)[i] for i in plain]


@pytest.mark.parametrize("depth", [1, 10, 100_000])
def test_compiled_search_equals_the_plain_search(
    monkeypatch: pytest.MonkeyPatch, corpus: tuple[TermTable, Passages, Passages], depth: int
) -> None:
    depth = min(depth, len(corpus[1]) + 5)
    plain = search(LUCENE, corpus, depth)
    monkeypatch.setattr(bm25, "_COMPILED_FROM", 0)
    compiled = search(LUCENE, corpus, depth)
    np.testing.assert_array_equal(compiled.chunk, plain.chunk)
    np.testing.assert_array_equal(compiled.score, plain.score)


@pytest.mark.usefixtures("_compiled_search")
def test_plain_search_without_the_package_equals_the_compiled_search(
    monkeypatch: pytest.MonkeyPatch, corpus: tuple[TermTable, Passages, Passages]
) -> None:
    compiled = search(LUCENE, corpus, 10)
    monkeypatch.setattr(bm25, "_COMPILED_NEEDS", "a_package_that_is_not_installed")
    plain = search(LUCENE, corpus, 10)
    np.testing.assert_array_equal(compiled.chunk, plain.chunk)
    np.testing.assert_array_equal(compiled.score, plain.score)


@pytest.mark.usefixtures("_compiled_search")
@pytest.mark.parametrize("depth", [1, 7, 100])
def test_compiled_search_breaks_ties_by_position(depth: int) -> None:
    texts = ["长城", "故宫"] * 200
    table = build_term_table(texts, LUCENE.tokenizer)
    index = index_block(LUCENE.build(passages(texts, table)), len(texts), table)
    hits = LUCENE.search([index], queries_for(["故宫"], LUCENE.tokenizer, table), depth)
    assert hits.chunk.tolist() == [list(range(1, 400, 2))[:depth]]


def find(component: Bm25, chunks: Sequence[str], queries: Sequence[str]) -> Hits:
    table = build_term_table(chunks, component.tokenizer)
    block = index_block(component.build(passages(chunks, table)), len(chunks), table)
    return component.search([block], queries_for(queries, component.tokenizer, table), 3)


def test_bm25_rejects_too_many_queries_without_hits() -> None:
    with pytest.raises(ComponentError) as raised:
        find(Bm25(max_share_without_hits=0.4), CHUNKS, ["长城", "moon"])
    assert "1 of 2 queries have no hit, e.g. 'moon', expected at most 40%" in str(raised.value)
    assert "RjiebaWords" in str(raised.value)
    assert "language=en for English, zh for Chinese, multi for several in one corpus" in str(raised.value)
    assert str(raised.value).endswith(
        "set max_share_without_hits=1 of this index (retriever.sparse_index, or retriever.searches.NAME.sparse_index)."
    )


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_bm25_allows_a_share_of_queries_without_hits(share: float) -> None:
    assert rankings_of(find(Bm25(max_share_without_hits=share), CHUNKS, ["长城", "moon"])) == [[1, 2, 4], []]


@pytest.mark.parametrize("component", [LUCENE, OKAPI, RANK_BM25])
@pytest.mark.parametrize("chunks", [(), ("",), ("。", "")])
def test_bm25_finds_no_hits_without_matching_terms(component: Bm25, chunks: tuple[str, ...]) -> None:
    lenient = dataclasses.replace(component, max_share_without_hits=1.0)
    assert rankings_of(find(lenient, chunks, ["长城", ""])) == [[], []]


def test_english_stems_find_inflected_words() -> None:
    hits = find(Bm25(tokenizer=EnglishStems()), ["The foxes ran.", "A fox runs!", "Dogs sleep"], ["running fox"])
    assert sorted(rankings_of(hits)[0]) == [0, 1]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"k1": -1.0}, "k1: got -1.0"),
        ({"b": 1.5}, "b: got 1.5"),
        ({"max_share_without_hits": 2.0}, "max_share_without_hits: got 2.0"),
        ({"backend": Backend.RANK_BM25}, "formula: backend rank_bm25 supports only okapi"),
    ],
)
def test_bm25_rejects_invalid_settings(fields: dict[str, Any], said: str) -> None:
    (problem,) = Bm25(**fields).check()
    assert problem.startswith(said)
