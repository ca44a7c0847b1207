"""Scores of FlagEmbedding's rerankers with tiny models, compared with scores of the package."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.errors import ComponentError
from components.pretrained.dtype import Dtype
from components.rerankers.cross_encoder import PretrainedCrossEncoder
from components.rerankers.flag_llm_reranker import FlagLanguageModel
from components.rerankers.flag_reranker import FlagCrossEncoder
from tests.contracts.reranker_contract import CHUNKS, QUERIES, RerankerContract
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS, save_bert, save_xlm_roberta_reranker
from tests.rerankers.pretrained import LONG, scores_of, text_pairs

skip_without("FlagEmbedding", "sentence_transformers", "torch")


def cross_encoder(folder: Path, **fields: Any) -> FlagCrossEncoder:
    return FlagCrossEncoder(**{"model": str(folder), "device": "cpu", **fields})


def language_model(folder: Path, **fields: Any) -> FlagLanguageModel:
    return FlagLanguageModel(**{"model": str(folder), "device": "cpu", **fields})


class TestCrossEncoderContract(RerankerContract):
    component = FlagCrossEncoder("")
    rounding = 1e-5

    @pytest.fixture(autouse=True)
    def _tiny(self, xlm_roberta: Path) -> None:
        self.component = cross_encoder(xlm_roberta, batch_size=3)


class TestLanguageModelContract(RerankerContract):
    component = FlagLanguageModel("")
    rounding = 1e-5

    @pytest.fixture(autouse=True)
    def _tiny(self, qwen2: Path) -> None:
        self.component = language_model(qwen2, batch_size=3)


@pytest.fixture(scope="module")
def flag_reranker(xlm_roberta: Path) -> Any:
    """The package's reranker. Building and releasing it takes seconds."""
    from FlagEmbedding import FlagReranker

    return FlagReranker(str(xlm_roberta), devices="cpu", max_length=MAX_TOKENS)


@pytest.fixture(scope="module")
def flag_llm_reranker(qwen2: Path) -> Any:
    """The package's own."""
    from FlagEmbedding import FlagLLMReranker

    return FlagLLMReranker(str(qwen2), devices="cpu", max_length=MAX_TOKENS // 2)


@pytest.mark.parametrize("fields", [{}, {"max_length": 24}, {"query_instruction": "查询："}])
def test_flag_cross_encoder_scores_equal_flag_reranker(
    xlm_roberta: Path, flag_reranker: Any, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flag_reranker, "query_instruction_for_rerank", fields.get("query_instruction"))
    expected = flag_reranker.compute_score(text_pairs((*QUERIES, *LONG)), max_length=fields.get("max_length"))
    found = scores_of(cross_encoder(xlm_roberta, **fields), text_pairs((*QUERIES, *LONG)))
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    assert len({round(score, 4) for score in expected}) > len(expected) / 2


def test_flag_scores_equal_the_cross_encoder(xlm_roberta: Path) -> None:
    """Use texts without unknown characters, which FlagEmbedding decodes and tokenizes again."""
    known = ("北京", "杭州是浙江的省会，", "abc 123", LONG[0])
    texts = text_pairs(("", *known), (*known, LONG[1]))
    ours = scores_of(PretrainedCrossEncoder(str(xlm_roberta), device="cpu"), texts)
    np.testing.assert_allclose(scores_of(cross_encoder(xlm_roberta), texts), ours, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "fields", [{}, {"max_length": 24}, {"prompt": "Is B about A?", "query_instruction": "Q", "passage_instruction": ""}]
)
def test_flag_language_model_scores_equal_flag_llm_reranker(
    qwen2: Path, flag_llm_reranker: Any, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for side, usual in {"query": "A: ", "passage": "B: "}.items():
        own = fields.get(f"{side}_instruction", usual)
        monkeypatch.setattr(flag_llm_reranker, f"{side}_instruction_for_rerank", own)
    called = {name: fields[name] for name in ("max_length", "prompt") if name in fields}
    expected = flag_llm_reranker.compute_score(text_pairs(QUERIES, CHUNKS), **called)
    found = scores_of(language_model(qwen2, **fields), text_pairs(QUERIES, CHUNKS))
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    assert len({round(score, 4) for score in expected}) > len(expected) / 2


@pytest.mark.parametrize("build", [cross_encoder, language_model])
def test_flag_reranker_caps_max_length_at_the_model_limit(build: Any, xlm_roberta: Path, qwen2: Path) -> None:
    folder = xlm_roberta if build is cross_encoder else qwen2
    found = scores_of(build(folder, max_length=100_000), text_pairs((*QUERIES, *LONG)))
    assert np.isfinite(found).all()


def test_question_longer_than_the_reranker_limit_is_an_error(qwen2: Path) -> None:
    with pytest.raises(ComponentError, match="reads 300 tokens, but the question alone has up to"):
        scores_of(language_model(qwen2, prompt="Is it? " * 100), [("a", "b")])


def test_flag_reranker_model_without_a_single_score_is_rejected(tmp_path: Path) -> None:
    classifier = save_xlm_roberta_reranker(tmp_path / "classifier", n_labels=3)
    with pytest.raises(ComponentError, match="returns 3 numbers per pair, expected one"):
        scores_of(cross_encoder(classifier), [("a", "b")])
    with pytest.raises(ComponentError, match="is a BertModel, expected a reranker"):
        scores_of(cross_encoder(save_bert(tmp_path / "bert")), [("a", "b")])


def test_flag_reranker_id_is_read_at_its_revision(
    xlm_roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model comes from the hub's cache, without network access."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    snapshots = tmp_path / "models--owner--reranker" / "snapshots"
    shutil.copytree(xlm_roberta, snapshots / ("a" * 40))
    save_xlm_roberta_reranker(snapshots / ("b" * 40), seed=1)
    one, other = (
        scores_of(cross_encoder(Path("owner/reranker"), revision=letter * 40), [("北京", "首都")]) for letter in "ab"
    )
    assert one == pytest.approx(scores_of(cross_encoder(xlm_roberta), [("北京", "首都")]), abs=1e-6)
    assert abs(one - other) > 1e-3


def test_flag_reranker_does_not_read_pickled_weights(xlm_roberta: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(xlm_roberta, tmp_path / "copy")
    (folder / "model.safetensors").rename(folder / "adapter.safetensors")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(ComponentError, match=r"cannot be loaded .*has no model\.safetensors"):
        scores_of(cross_encoder(folder), [("a", "b")])


def test_flag_reranker_on_a_cpu_refuses_half_precision(xlm_roberta: Path) -> None:
    with pytest.raises(ComponentError, match=r"dtype: float16 requires a GPU with FlagReranker\. Use float32."):
        scores_of(cross_encoder(xlm_roberta, dtype=Dtype.FLOAT16), [("a", "b")])


def test_flag_reranker_hides_progress_bars(qwen2: Path, capfd: pytest.CaptureFixture[str]) -> None:
    scores_of(language_model(qwen2, batch_size=2), text_pairs(QUERIES, CHUNKS))
    assert "it/s" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        (FlagCrossEncoder("", batch_size=1).check(), "model: is empty"),
        (FlagCrossEncoder("owner/name", "0" * 40, dtype=Dtype.BFLOAT16).check(), "dtype: got bfloat16, expected"),
        (FlagCrossEncoder("owner/name", "0" * 40, max_length=7).check(), "max_length: got 7, expected at least 8"),
        (FlagLanguageModel("owner/name", "main").check(), "revision: got 'main'"),
        (FlagLanguageModel("owner/name", "0" * 40, depth=0).check(), "depth: got 0"),
    ],
)
def test_flag_rerankers_reject_invalid_settings(problems: list[str], expected: str) -> None:
    (found,) = problems
    assert found.startswith(expected)
