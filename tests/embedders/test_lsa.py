import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from components.embedders import lsa
from components.embedders.lsa import Lsa
from components.records import Passages, Terms
from components.text.corpus_tables import build_term_table
from components.tokenizers.rjieba_words import RjiebaWords
from tests.contracts.embedder_contract import CORPUS, EmbedderContract
from tests.contracts.passages import passages, queries_for


class TestLsa(EmbedderContract):
    component = Lsa(n_dimensions=16)


def test_lsa_weights_equal_hand_computed_values() -> None:
    table = build_term_table(["西湖 西湖 故宫", "西湖 长城", "西湖"], RjiebaWords())
    state = Lsa(min_documents=1).fit(passages(["", "", ""], table))
    weight = dict(zip(table.vocabulary, state["weights"].tolist(), strict=True))
    assert weight == pytest.approx({"西湖": np.log(4 / 4) + 1, "故宫": np.log(4 / 2) + 1, "长城": np.log(4 / 2) + 1})


@pytest.mark.parametrize(
    ("settings", "remaining"), [((2, 50_000), {"西湖"}), ((1, 2), {"西湖", "故宫"}), ((5, 9), {"西湖"})]
)
def test_excluded_terms_have_zero_weight(settings: tuple[int, int], remaining: set[str]) -> None:
    texts = ["西湖 故宫", "西湖 长城 长城", "西湖"]
    table = build_term_table(texts, RjiebaWords())
    state = Lsa(min_documents=settings[0], max_terms=settings[1]).fit(passages(texts, table))
    weights = zip(table.vocabulary, state["weights"], state["projection"], strict=True)
    assert {term for term, weight, _ in weights if weight} == remaining
    assert not state["projection"][state["weights"] == 0].any()


def test_vectors_of_a_corpus_that_shares_no_term_are_zero() -> None:
    texts = ["西湖", "长城"]
    table = build_term_table(texts, RjiebaWords())
    embedder = Lsa()
    vectors = embedder.embed_chunks(passages(texts, table), embedder.fit(passages(texts, table)))
    assert vectors.tolist() == [[0.0], [0.0]]


def test_full_rank_keeps_the_cosines_of_tf_idf() -> None:
    """All singular vectors make the projection a rotation, which keeps the cosines of the weighted counts."""
    texts = ["西湖 西湖 故宫", "西湖 长城", "故宫 长城"]
    table = build_term_table(texts, RjiebaWords())
    embedder = Lsa(min_documents=1)
    vectors = embedder.embed_chunks(passages(texts, table), embedder.fit(passages(texts, table)))
    rows = np.array([[1 + np.log(2), 1, 0], [1, 0, 1], [0, 1, 1]])  # every term is in two documents: equal idf
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors @ vectors.T, rows @ rows.T, atol=1e-5)


def test_lsa_finds_documents_that_share_no_word_with_the_query() -> None:
    embedder = Lsa(n_dimensions=3)
    table = build_term_table(CORPUS, embedder.tokenizer)
    state = embedder.fit(passages(CORPUS, table))
    chunks = embedder.embed_chunks(passages(CORPUS, table), state)
    query = embedder.embed_queries(queries_for(["西湖"], embedder.tokenizer, table), state)[0]
    similarity = chunks @ query
    assert similarity[:4].min() > similarity[4:6].max()


def test_rows_are_normalized_as_scikit_learn_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are bitwise equal, in one block of rows or several; empty rows and zero rows stay zero."""
    from sklearn.preprocessing import normalize

    values = np.random.default_rng(0).random((40, 30), dtype=np.float32)
    values[values < 0.6] = 0
    values[[3, 39]] = 0
    counts = sparse.csr_matrix(np.ceil(values * 9))
    weights = np.arange(30, dtype=np.float32) / 7
    weights[counts[5].indices] = 0
    expected = counts.copy()
    expected.data = (1 + np.log(counts.data)) * weights[counts.indices]
    for rows_at_once in (1000, 7, 1):
        monkeypatch.setattr(lsa, "_ROWS_AT_ONCE", rows_at_once)
        assert lsa._tf_idf(counts, weights).data.tobytes() == normalize(expected).data.tobytes()


def test_lsa_rejects_zero_dimensions_documents_and_terms() -> None:
    assert [problem.split(":")[0] for problem in Lsa(0, 0, 0).check()] == ["n_dimensions", "min_documents", "max_terms"]


def test_lsa_does_not_depend_on_the_number_of_threads() -> None:
    random = np.random.default_rng(0)
    first = np.arange(0, 60_000, 60, dtype=np.int64)
    terms = Terms(random.integers(0, 3000, 60_000, dtype=np.int32), first, first + 60, 3000)
    fitted = []
    for n in (1, 2):
        with threadpool_limits(n):
            fitted.append(Lsa(n_dimensions=64).fit(Passages([""] * len(terms), terms))["projection"])
    assert fitted[0].tobytes() == fitted[1].tobytes()
