"""Late interaction by BGE-M3's token vectors, whose scores are FlagEmbedding's."""

from pathlib import Path

import numpy as np
import pytest

from components.embedders.bge_m3 import BgeM3
from components.protocols import EncodedReranker
from components.records import Passages
from components.rerankers.late_interaction import LateInteraction
from tests.contracts.reranker_contract import CHUNKS, QUERIES, RerankerContract
from tests.models.tiny import save_bge_m3

pytest.importorskip("FlagEmbedding", reason="the extra `models` is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bge_m3(tmp_path_factory.mktemp("bge_m3"))


@pytest.mark.usefixtures("released")
class TestLateInteraction(RerankerContract):
    rounding = 1e-3  # token vectors are kept in half precision

    @pytest.fixture(autouse=True)
    def _tiny(self, folder: Path) -> None:
        self.component = LateInteraction(BgeM3(str(folder)))

    def test_scores_what_was_encoded_before_alike(self) -> None:
        assert isinstance(self.component, EncodedReranker)
        pairs = np.array([(0, 3), (1, 0), (0, 0)], dtype=np.int32)
        encoder = self.component.encoder
        queries, chunks = encoder.encode_queries(Passages(QUERIES)), encoder.encode_chunks(Passages(CHUNKS))
        found = self.component.score_encoded(queries, chunks, pairs)
        np.testing.assert_allclose(found, self.score(pairs), atol=self.rounding)


def test_scores_are_those_of_the_package(folder: Path) -> None:
    from FlagEmbedding import BGEM3FlagModel

    published = BGEM3FlagModel(str(folder), use_fp16=False, devices="cpu")
    queries, chunks = [text for text in QUERIES if text], [text for text in CHUNKS if text]
    vectors = [published.encode(texts, return_colbert_vecs=True)["colbert_vecs"] for texts in (queries, chunks)]
    pairs = np.array([(q, c) for q in range(len(queries)) for c in range(len(chunks))], dtype=np.int32)
    expected = [float(published.colbert_score(vectors[0][q], vectors[1][c])) for q, c in pairs.tolist()]
    found = LateInteraction(BgeM3(str(folder))).score(Passages(queries), Passages(chunks), pairs)
    np.testing.assert_allclose(found, expected, atol=5e-4)


def test_mistakes() -> None:
    assert LateInteraction(BgeM3("owner/name"), depth=0).check() == [
        "depth: got 0, wanted at least 1 (for none, use reranker=none)"
    ]
