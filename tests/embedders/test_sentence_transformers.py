from typing import Any

import numpy as np
import pytest

from components.embedders.sentence_transformers import SentenceTransformers
from components.records import Passages
from tests.contracts.embedder_contract import EmbedderContract
from tests.models.tiny import save_bert

pytest.importorskip("sentence_transformers", reason="the extra `models` is not installed")

TEXTS = [
    "北京",
    "上海是中国的首都。",
    "abc 123",
    "杭州是浙江的省会，" * 60,
    "北京",
    "",
    "会议在北京举行，共有12人参加。" * 3,
]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("bert")))


def published(folder: str, **options: Any) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(folder, device="cpu", **options)


def embed(embedder: SentenceTransformers, texts: list[str]) -> Any:
    return embedder.embed_chunks(Passages(texts), {})


class TestSentenceTransformers(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, bert: str) -> None:
        self.component = SentenceTransformers(bert, "")


def test_vectors_are_those_of_the_package(bert: str) -> None:
    texts = [text for text in TEXTS if text]
    expected = published(bert).encode(texts, normalize_embeddings=True)
    vectors = embed(SentenceTransformers(bert, ""), TEXTS)
    np.testing.assert_allclose(vectors[[i for i, text in enumerate(TEXTS) if text]], expected, atol=1e-5)
