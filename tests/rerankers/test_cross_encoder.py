"""Scores of a tiny cross-encoder, compared with scores of sentence-transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.errors import ComponentError
from components.pretrained.load_once import release_all_but
from components.records import Passages
from components.rerankers.cross_encoder import Activation, PretrainedCrossEncoder
from tests.contracts.reranker_contract import CHUNKS, PAIRS, QUERIES, RerankerContract
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS, save_bert, save_qwen2, save_xlm_roberta_reranker
from tests.rerankers.pretrained import LONG, scores_of, text_pairs
from tests.runner.sweeping import RANKING_ONLY, cells_in, run_small

skip_without("sentence_transformers", "torch")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were loaded."""
    from sentence_transformers import CrossEncoder

    found = []
    original = CrossEncoder.__init__

    def counted(self: Any, name: str, **options: Any) -> None:
        found.append(name)
        original(self, name, **options)

    monkeypatch.setattr(CrossEncoder, "__init__", counted)
    return found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The pairs that a model read."""
    from sentence_transformers import CrossEncoder

    found: list[tuple[str, str]] = []
    original = CrossEncoder.preprocess

    def noted(self: Any, inputs: list[tuple[str, str]], **options: Any) -> Any:
        found.extend(inputs)
        return original(self, inputs, **options)

    monkeypatch.setattr(CrossEncoder, "preprocess", noted)
    return found


def cross_encoder(folder: Path, **fields: Any) -> PretrainedCrossEncoder:
    return PretrainedCrossEncoder(**{"model": str(folder), "device": "cpu", **fields})


def all_pairs() -> list[tuple[str, str]]:
    return text_pairs((*QUERIES, *LONG))


class TestContract(RerankerContract):
    component = PretrainedCrossEncoder("")
    rounding = 1e-5

    @pytest.fixture(autouse=True)
    def _tiny(self, xlm_roberta: Path) -> None:
        self.component = cross_encoder(xlm_roberta, batch_tokens=64)


@pytest.mark.parametrize("max_length", [24, 512])
def test_cross_encoder_scores_equal_sentence_transformers(xlm_roberta: Path, max_length: int) -> None:
    from sentence_transformers import CrossEncoder

    plain = CrossEncoder(str(xlm_roberta), device="cpu", max_length=min(max_length, MAX_TOKENS))
    expected = plain.predict(all_pairs())
    found = scores_of(cross_encoder(xlm_roberta, max_length=max_length, activation=Activation.MODEL), all_pairs())
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    assert len({round(float(score), 4) for score in expected}) > len(expected) / 2


@pytest.mark.parametrize("prompt", [None, "Does it answer?"])
def test_causal_reranker_receives_its_chat_template(tmp_path: Path, prompt: str | None) -> None:
    from sentence_transformers import CrossEncoder

    template = "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}{% endfor %}?"
    folder = save_qwen2(tmp_path / "qwen2", chat_template=template)
    expected = CrossEncoder(str(folder), device="cpu", max_length=MAX_TOKENS).predict(text_pairs(), prompt=prompt)
    found = scores_of(cross_encoder(folder, prompt=prompt, activation=Activation.MODEL), text_pairs())
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def test_sigmoid_of_scores_keeps_the_order_of_pairs(xlm_roberta: Path) -> None:
    raw = scores_of(cross_encoder(xlm_roberta), all_pairs())
    shares = scores_of(cross_encoder(xlm_roberta, activation=Activation.SIGMOID), all_pairs())
    np.testing.assert_allclose(shares, 1 / (1 + np.exp(-raw)), atol=1e-6)
    assert raw.min() < 0 < 1 < raw.max()


def test_reranker_prompt_is_prepended_to_the_query(xlm_roberta: Path) -> None:
    prompted = scores_of(cross_encoder(xlm_roberta, prompt="查询："), [("北京", "首都")])
    written_out = scores_of(cross_encoder(xlm_roberta), [("查询：北京", "首都")])
    assert prompted == pytest.approx(written_out, abs=1e-6)
    assert prompted != pytest.approx(scores_of(cross_encoder(xlm_roberta), [("北京", "首都")]), abs=1e-3)


@pytest.mark.usefixtures("released")
def test_reranker_model_is_loaded_again_after_release(xlm_roberta: Path, loads: list[str]) -> None:
    for batch_tokens in (64, 256):
        scores_of(cross_encoder(xlm_roberta, batch_tokens=batch_tokens), all_pairs())
    assert loads == [str(xlm_roberta)]
    release_all_but([(str(xlm_roberta), "")])
    scores_of(cross_encoder(xlm_roberta), all_pairs())
    assert len(loads) == 1
    release_all_but(())
    scores_of(cross_encoder(xlm_roberta), all_pairs())
    assert len(loads) == 2


def test_cross_encoder_scores_equal_pairs_once(xlm_roberta: Path, read: list[tuple[str, str]]) -> None:
    twice = cross_encoder(xlm_roberta).score(
        Passages([*QUERIES, *QUERIES]), Passages(CHUNKS), np.concatenate([PAIRS, PAIRS + np.int32([len(QUERIES), 0])])
    )
    assert len(read) == len(set(read)) == len(PAIRS)
    np.testing.assert_array_equal(twice[: len(PAIRS)], twice[len(PAIRS) :])


def test_rerank_batches_group_pairs_of_similar_length(xlm_roberta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentence_transformers import CrossEncoder

    shapes = []
    original = CrossEncoder.forward

    def noted(self: Any, features: Any, **options: Any) -> Any:
        shapes.append(tuple(features["input_ids"].shape))
        return original(self, features, **options)

    monkeypatch.setattr(CrossEncoder, "forward", noted)
    scores_of(cross_encoder(xlm_roberta, batch_tokens=600), all_pairs())
    assert all(n_rows == 1 or n_rows * n_tokens <= 600 for n_rows, n_tokens in shapes)
    assert [n_tokens for _, n_tokens in shapes] == sorted((n for _, n in shapes), reverse=True)
    assert shapes[0][1] == MAX_TOKENS, "no longer than the model can read"


@pytest.mark.parametrize("prompt", [None, "查询："])
def test_reranker_token_counts_equal_the_model(xlm_roberta: Path, prompt: str | None) -> None:
    from sentence_transformers import CrossEncoder

    reranker = cross_encoder(xlm_roberta, prompt=prompt, max_length=200)
    assert (reranker.token_limit(), cross_encoder(xlm_roberta, max_length=1000).token_limit()) == (200, MAX_TOKENS)
    texts = text_pairs()
    queries, chunks = zip(*texts, strict=True)
    counted = reranker.count_query_tokens(queries) + reranker.count_chunk_tokens(chunks)
    read = CrossEncoder(str(xlm_roberta), device="cpu").preprocess(texts, prompt=prompt)["attention_mask"].sum(dim=1)
    np.testing.assert_array_equal(np.minimum(counted, MAX_TOKENS), read.numpy())
    assert counted.max() > MAX_TOKENS


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"model": ""}, "model: is empty"),
        ({"depth": 0}, "depth: got 0"),
        ({"max_length": 3}, "max_length: got 3, expected at least 8"),
        ({"batch_tokens": 0}, "batch_tokens: got 0"),
        ({"model": "owner/name", "revision": "main"}, "revision: got 'main', expected the commit"),
    ],
)
def test_cross_encoder_rejects_invalid_settings(xlm_roberta: Path, fields: dict[str, Any], problem: str) -> None:
    (found,) = cross_encoder(xlm_roberta, **fields).check()
    assert found.startswith(problem)


def test_cross_encoder_models_without_a_single_score_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="is a BertModel, expected a reranker"):
        scores_of(cross_encoder(save_bert(tmp_path / "bert")), [("a", "b")])
    classifier = save_xlm_roberta_reranker(tmp_path / "classifier", n_labels=3)
    with pytest.raises(ComponentError, match="returns 3 numbers per pair, expected one"):
        scores_of(cross_encoder(classifier), [("a", "b")])


def test_cross_encoder_sweep_scores_every_pair_once(
    xlm_roberta: Path, tmp_path: Path, read: list[tuple[str, str]]
) -> None:
    own = ["reranker=cross_encoder", f"reranker.model={xlm_roberta}", "reranker.device=cpu", "llm=none", *RANKING_ONLY]
    cells = [[*own, "reranker.depth=3"], [*own, "reranker.depth=6"], [*own, "retriever=dense", "reranker.depth=6"]]
    assert run_small(tmp_path, *cells) == 0
    assert len(read) == len(set(read)) > 12 * 6
    first, *_ = cells_in(tmp_path)
    assert first.value("ndcg@10") is not None
    (cut,) = first.cut_texts
    assert (cut["texts"], cut["n"], cut["limit"]) == ("pairs", 12 * 3, MAX_TOKENS)
    assert run_small(tmp_path, [*own, "reranker.depth=5", "reranker.batch_tokens=64"], sweep_id="again") == 0
    assert len(read) == len(set(read)), "a smaller depth has nothing to score"
