"""The contract of every encoder of token vectors."""

import numpy as np

from components.encodings import MultiEncodings
from components.protocols import TokenVectorEncoder
from components.records import Passages
from tests.contracts.component_contract import ComponentContract

TEXTS = ("北京是中国的首都。", "abc 123 北京", "杭州是浙江的省会。", "", " \n", "abc 123 北京")


class TokenVectorEncoderContract(ComponentContract):
    """Contract of encoders of token vectors. `TEXTS` holds two blank texts and two equal ones."""

    component: TokenVectorEncoder

    def vectors_of(self, texts: tuple[str, ...]) -> tuple[MultiEncodings, MultiEncodings]:
        """Vectors of the texts as chunks and as queries."""
        return self.component.encode_chunk_tokens(Passages(texts)), self.component.encode_query_tokens(Passages(texts))

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, TokenVectorEncoder)

    def test_token_vectors_have_unit_length_in_half_precision(self) -> None:
        for found in self.vectors_of(TEXTS):
            assert len(found) == len(found.multi) == len(TEXTS)
            assert found.vectors.dtype == np.float16
            assert found.vector_offsets.dtype == np.int64
            assert (found.vector_offsets[0], found.vector_offsets[-1]) == (0, len(found.vectors))
            lengths = np.linalg.norm(found.vectors.astype(np.float32), axis=1)
            np.testing.assert_allclose(lengths, 1, atol=2e-3)

    def test_blank_texts_have_no_token_vectors(self) -> None:
        for found in self.vectors_of(TEXTS):
            n_vectors = np.diff(found.vector_offsets)
            assert (n_vectors[[3, 4]] == 0).all()
            assert (n_vectors[[0, 1, 2, 5]] > 0).all()

    def test_equal_texts_have_equal_token_vectors(self) -> None:
        for found in self.vectors_of(TEXTS):
            one, other = (
                slice(found.vector_offsets[row], found.vector_offsets[row + 1]) for row in (1, len(TEXTS) - 1)
            )
            np.testing.assert_array_equal(found.vectors[one], found.vectors[other])

    def test_empty_batch_of_texts_keeps_the_vector_dimensions(self) -> None:
        n_dimensions = self.vectors_of(TEXTS)[0].vectors.shape[1]
        for texts in ((), ("", " ")):
            for found in self.vectors_of(texts):
                assert (len(found), found.vectors.shape) == (len(texts), (0, n_dimensions))

    def test_token_vectors_do_not_depend_on_the_rest_of_the_batch(self) -> None:
        for side, together in enumerate(self.vectors_of(TEXTS)):
            alone = [self.vectors_of((text,))[side].vectors for text in TEXTS]
            np.testing.assert_allclose(np.concatenate(alone), together.vectors, atol=1e-3)
