"""Late interaction by BGE-M3's token vectors. The tests of the embedder compare its scores with FlagEmbedding's."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from components.embedders.bge_m3 import BgeM3
from components.pretrained.load_once import release_all_but
from components.protocols import EncodedReranker
from components.records import Passages
from components.rerankers.late_interaction import LateInteraction
from tests.contracts.reranker_contract import CHUNKS, QUERIES, RerankerContract
from tests.extras import skip_without
from tests.models.tiny import save_bge_m3

skip_without("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield save_bge_m3(tmp_path_factory.mktemp("bge_m3"))
    release_all_but(())


class TestLateInteraction(RerankerContract):
    rounding = 1e-3  # token vectors are kept in half precision

    @pytest.fixture(autouse=True)
    def _tiny(self, folder: Path) -> None:
        self.component = LateInteraction(BgeM3(str(folder)))

    def test_scores_of_encoded_texts_equal_scores_of_texts(self) -> None:
        assert isinstance(self.component, EncodedReranker)
        pairs = np.array([(0, 3), (1, 0), (0, 0)], dtype=np.int32)
        encoder = self.component.encoder
        queries, chunks = encoder.encode_queries(Passages(QUERIES)), encoder.encode_chunks(Passages(CHUNKS))
        found = self.component.score_encoded(queries, chunks, pairs)
        np.testing.assert_allclose(found, self.score(pairs), atol=self.rounding)


def test_late_interaction_reranker_rejects_zero_depth() -> None:
    assert LateInteraction(BgeM3("owner/name"), depth=0).check() == [
        "depth: got 0, expected at least 1 (for none, use reranker=none)"
    ]
