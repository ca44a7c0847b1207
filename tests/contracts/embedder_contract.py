"""The contract of every embedder."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from components.protocols import Embedder, EmbedderState, KnowsDimensions
from components.records import Passages
from tests.contracts.component_contract import ComponentContract
from tests.contracts.passages import passages, queries_for, term_table

CORPUS = (
    "杭州是浙江的省会，西湖在城西。",
    "北京是中国的首都，故宫在城中。",
    "西湖的游人很多，杭州的酒店住满了。",
    "故宫的游人很多，北京的酒店住满了。",
    "央行下调利率，银行股上涨。",
    "利率下调之后，银行的利润减少。",
    "",
)
QUERIES = ("西湖在哪里？", "银行利率", "", "！？", "completely unrelated")


class EmbedderContract(ComponentContract):
    """Contract of embedders. They are fitted on whole documents, so the fit does not depend on what is embedded."""

    component: Embedder

    def embed(self, texts: Sequence[str], corpus: Sequence[str] = CORPUS) -> tuple[EmbedderState, Passages]:
        """Return the state that the embedder learns from the corpus, and the texts as passages."""
        table = term_table(corpus, self.component.tokenizer)
        return self.component.fit(passages(corpus, table)), queries_for(texts, self.component.tokenizer, table)

    def chunk_vectors(self, texts: Sequence[str], corpus: Sequence[str] = CORPUS) -> NDArray[np.float32]:
        """Vectors of chunks."""
        state, given = self.embed(texts, corpus)
        return self.component.embed_chunks(given, state)

    def query_vectors(self, texts: Sequence[str], corpus: Sequence[str] = CORPUS) -> NDArray[np.float32]:
        """Vectors of queries."""
        state, given = self.embed(texts, corpus)
        return self.component.embed_queries(given, state)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Embedder)

    def test_embedder_returns_one_float32_row_per_text(self) -> None:
        chunks, queries = self.chunk_vectors(CORPUS), self.query_vectors(QUERIES)
        assert chunks.dtype == queries.dtype == np.float32
        assert (len(chunks), len(queries)) == (len(CORPUS), len(QUERIES))
        assert chunks.shape[1] == queries.shape[1] > 0

    def test_vectors_have_at_most_the_announced_dimensions(self) -> None:
        known = self.component.max_dimensions() if isinstance(self.component, KnowsDimensions) else None
        assert known is None or self.chunk_vectors(CORPUS).shape[1] <= known

    def test_vectors_have_unit_length_or_are_zero(self) -> None:
        for vectors in (self.chunk_vectors(CORPUS), self.query_vectors(QUERIES)):
            lengths = np.linalg.norm(vectors, axis=1)
            assert all(length == 0 or abs(length - 1) < 1e-5 for length in lengths)
            assert lengths.any()

    def test_empty_text_has_a_zero_vector(self) -> None:
        assert not self.chunk_vectors([""]).any()
        assert not self.query_vectors([""]).any()

    def test_empty_batch_of_texts_gives_an_empty_result(self) -> None:
        n_dimensions = self.chunk_vectors(CORPUS).shape[1]
        for vectors in (self.chunk_vectors([]), self.query_vectors([])):
            assert vectors.shape == (0, n_dimensions)
            assert vectors.dtype == np.float32

    @pytest.mark.parametrize("corpus", [(), ("",), ("。", " ")])
    def test_embedder_accepts_a_corpus_without_words(self, corpus: tuple[str, ...]) -> None:
        chunks, queries = self.chunk_vectors(corpus, corpus), self.query_vectors(QUERIES, corpus)
        assert (len(chunks), len(queries)) == (len(corpus), len(QUERIES))
        assert chunks.shape[1] == queries.shape[1]
        assert np.isfinite(queries).all()

    def test_vector_of_a_text_is_its_own_nearest_neighbour(self) -> None:
        vectors = self.chunk_vectors(CORPUS[:-1])
        assert (vectors @ vectors.T).argmax(axis=1).tolist() == list(range(len(vectors)))

    def test_vector_does_not_depend_on_the_rest_of_the_batch(self) -> None:
        together = self.chunk_vectors(CORPUS)
        alone = np.concatenate([self.chunk_vectors([text]) for text in CORPUS])
        np.testing.assert_allclose(alone, together, atol=1e-6)

    def test_embedding_is_deterministic(self) -> None:
        np.testing.assert_array_equal(self.chunk_vectors(CORPUS), self.chunk_vectors(CORPUS))
