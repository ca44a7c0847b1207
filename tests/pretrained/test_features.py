"""Features of texts, as sentence-transformers makes them."""

from pathlib import Path

import pytest

from components.pretrained.features import preprocess
from tests.extras import skip_without
from tests.models.tiny import save_bert, save_sentence_encoder, save_static_table, save_xlm_roberta_reranker

skip_without("sentence_transformers", "torch")

TEXTS = ["北京是中国的首都", "a", "", "hangzhou in 2024 " * 60]


@pytest.mark.parametrize("prompt", ["", "query: "])
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1]])
def test_text_features_equal_the_package(tmp_path: Path, texts: list[str], prompt: str) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_sentence_encoder(tmp_path / "encoder", save_bert(tmp_path / "bert"), max_tokens=50)
    assert_equal(SentenceTransformer(str(folder), device="cpu"), texts, prompt=prompt, task="document")


def test_pair_features_equal_the_package(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    pairs = [(query, chunk) for query in TEXTS for chunk in TEXTS]
    assert_equal(CrossEncoder(str(save_xlm_roberta_reranker(tmp_path)), device="cpu"), pairs, prompt=None)


def test_static_embedding_features_equal_the_package(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(save_static_table(tmp_path)), device="cpu")
    assert_equal(encoder, [text for text in TEXTS if text], prompt="", task="document")


def assert_equal(encoder: object, inputs: list[str] | list[tuple[str, str]], **options: object) -> None:
    import torch

    expected = encoder.preprocess(inputs, **options)  # type: ignore[attr-defined]
    found = preprocess(encoder, inputs, **options)
    assert list(found) == list(expected)
    for name, value in expected.items():
        if isinstance(value, torch.Tensor):
            assert found[name].dtype == value.dtype
            assert torch.equal(found[name], value)
        else:
            assert found[name] == value
