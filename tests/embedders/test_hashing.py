import numpy as np

from components.embedders.hashing import Hashing
from components.records import Passages
from tests.contracts.embedder_contract import CORPUS, EmbedderContract


class TestHashing(EmbedderContract):
    component = Hashing()


def test_hashing_embedder_has_no_fitted_state() -> None:
    assert Hashing().fit(Passages(CORPUS)) == {}


def test_hashing_vectors_depend_on_character_order_from_bigrams_on() -> None:
    def similarity(max_ngram: int) -> float:
        a, b = Hashing(max_ngram=max_ngram).embed_chunks(Passages(["西湖", "湖西"]), {})
        return float(a @ b)

    assert abs(similarity(1) - 1) < 1e-6
    assert similarity(2) < 0.99


def test_vectors_have_the_requested_dimensions() -> None:
    assert Hashing(n_dimensions=7).embed_queries(Passages(["西湖"]), {}).shape == (1, 7)
    assert np.count_nonzero(Hashing(n_dimensions=4096, max_ngram=1).embed_queries(Passages(["西湖"]), {})) == 2


def test_hashing_rejects_zero_dimensions_and_negative_ngrams() -> None:
    assert Hashing(0, -1).check() == [
        "n_dimensions: got 0, expected at least 1",
        "max_ngram: got -1, expected at least 1",
    ]
