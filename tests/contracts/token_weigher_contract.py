"""The contract of every encoder of token weights."""

import numpy as np

from components.encodings import SparseEncodings
from components.protocols import TokenWeigher
from components.records import Passages
from tests.contracts.component_contract import ComponentContract

TEXTS = ("北京是中国的首都。", "abc 123 北京", "杭州是浙江的省会。", "", " \n", "abc 123 北京")


class TokenWeigherContract(ComponentContract):
    """Contract of encoders of token weights. `TEXTS` holds two blank texts and two equal ones."""

    component: TokenWeigher

    def weights_of(self, texts: tuple[str, ...]) -> tuple[SparseEncodings, SparseEncodings]:
        """Weights of the texts as chunks and as queries."""
        return self.component.weigh_chunks(Passages(texts)), self.component.weigh_queries(Passages(texts))

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, TokenWeigher)

    def test_token_weights_are_positive_with_increasing_token_ids(self) -> None:
        for found in self.weights_of(TEXTS):
            assert len(found) == len(found.sparse) == len(TEXTS)
            assert found.weight_ids.dtype == np.int32
            assert found.weights.dtype == np.float32
            assert found.weight_offsets.dtype == np.int64
            assert found.weights.min() > 0
            for first, last in zip(found.sparse.first, found.sparse.last, strict=True):
                assert (np.diff(found.weight_ids[first:last]) > 0).all()

    def test_blank_texts_have_no_token_weights(self) -> None:
        for found in self.weights_of(TEXTS):
            n_weights = np.diff(found.weight_offsets)
            assert (n_weights[[3, 4]] == 0).all()
            assert (n_weights[[0, 1, 2, 5]] > 0).all()

    def test_equal_texts_have_equal_token_weights(self) -> None:
        for found in self.weights_of(TEXTS):
            one, other = (
                slice(found.weight_offsets[row], found.weight_offsets[row + 1]) for row in (1, len(TEXTS) - 1)
            )
            np.testing.assert_array_equal(found.weight_ids[one], found.weight_ids[other])
            np.testing.assert_array_equal(found.weights[one], found.weights[other])

    def test_empty_batch_of_texts_gives_no_token_weights(self) -> None:
        for found in self.weights_of(()):
            assert (len(found), len(found.weights), found.weight_offsets.tolist()) == (0, 0, [0])

    def test_token_weights_do_not_depend_on_the_rest_of_the_batch(self) -> None:
        together = self.component.weigh_chunks(Passages(TEXTS))
        alone = [self.component.weigh_chunks(Passages([text])) for text in TEXTS]
        np.testing.assert_array_equal(np.concatenate([own.weight_ids for own in alone]), together.weight_ids)
        np.testing.assert_allclose(np.concatenate([own.weights for own in alone]), together.weights, atol=1e-5)
