"""Vectors of tiny encoders, compared with vectors of the package sentence-transformers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.embedders.sentence_transformers import SentenceTransformers, Truncation
from components.errors import ComponentError
from components.pretrained.dtype import Dtype
from components.pretrained.load_once import release_all_but
from components.pretrained.sentence_encoder import Pooling
from components.records import Passages
from runner.engine.identity import describe
from tests.contracts.embedder_contract import EmbedderContract
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS, save_sentence_encoder
from tests.runner.sweeping import RANKING_ONLY, cells_in, run_small

skip_without("sentence_transformers", "torch")

TEXTS = [
    "北京",
    "上海是中国的首都。",
    "abc 123",
    "杭州是浙江的省会，" * 60,
    "会议在北京举行，共有12人参加。" * 3,
    *("获奖" * n for n in range(1, 30)),
]
LONG = "杭州是浙江的省会，" * 60


def package(folder: Path, **options: Any) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", **options)


def embedder(folder: Path, **fields: Any) -> SentenceTransformers:
    return SentenceTransformers(str(folder), "", device="cpu", **fields)


def chunk_vectors(component: SentenceTransformers, texts: list[str]) -> NDArray[np.float32]:
    return component.embed_chunks(Passages(texts), {})


def query_vectors(component: SentenceTransformers, texts: list[str]) -> NDArray[np.float32]:
    return component.embed_queries(Passages(texts), {})


class TestSentenceTransformers(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, bert: Path) -> None:
        self.component = embedder(bert)


@pytest.fixture(params=["bert", "xlm_roberta"])
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def test_sentence_transformers_vectors_equal_the_package(folder: Path) -> None:
    expected = package(folder).encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(chunk_vectors(embedder(folder), TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize("batch_tokens", [1, 64, 100_000])
def test_sentence_transformers_batch_size_changes_only_rounding(folder: Path, batch_tokens: int) -> None:
    expected = chunk_vectors(embedder(folder), TEXTS)
    np.testing.assert_allclose(chunk_vectors(embedder(folder, batch_tokens=batch_tokens), TEXTS), expected, atol=1e-6)


def test_vectors_are_not_scaled_without_normalize(bert: Path) -> None:
    vectors = chunk_vectors(embedder(bert, normalize=False), TEXTS)
    np.testing.assert_allclose(vectors, package(bert).encode(TEXTS), atol=1e-5)
    assert abs(np.linalg.norm(vectors, axis=1) - 1).min() > 0.1


@pytest.mark.parametrize("pooling", [pooling for pooling in Pooling if pooling not in (Pooling.MODEL, Pooling.LATE)])
def test_named_pooling_equals_the_package(bert: Path, pooling: Pooling) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    plain = package(bert)
    pooled = SentenceTransformer(modules=[plain[0], modules.Pooling(32, pooling.value)], device="cpu")
    vectors = chunk_vectors(embedder(bert, pooling=pooling), TEXTS)
    np.testing.assert_allclose(vectors, pooled.encode(TEXTS, normalize_embeddings=True), atol=1e-5)
    if pooling is not Pooling.MEAN:
        assert abs(vectors - chunk_vectors(embedder(bert), TEXTS)).max() > 1e-3


def test_prefixes_are_prepended_to_queries_and_chunks(bert: Path) -> None:
    prefixed, plain = embedder(bert, query_prefix="问：", passage_prefix="文："), embedder(bert)
    np.testing.assert_allclose(query_vectors(prefixed, ["北京"]), query_vectors(plain, ["问：北京"]), atol=1e-6)
    np.testing.assert_allclose(chunk_vectors(prefixed, ["北京"]), chunk_vectors(plain, ["文：北京"]), atol=1e-6)
    assert not query_vectors(prefixed, [" "]).any()


def test_prompts_of_the_model_are_used_unless_overridden(bert: Path, tmp_path: Path) -> None:
    prompts = {"query": "上海 ", "passage": "首都 ", "clustering": "获奖 "}
    prompted = save_sentence_encoder(tmp_path, bert, max_tokens=50, prompts=prompts)
    texts, own = ["北京", "abc"], package(prompted)
    for vectors, name in ((query_vectors, "query"), (chunk_vectors, "passage")):
        expected = own.encode(texts, prompt_name=name, normalize_embeddings=True)
        np.testing.assert_allclose(vectors(embedder(prompted), texts), expected, atol=1e-5)
        without = vectors(embedder(prompted, query_prefix="", passage_prefix=""), texts)
        np.testing.assert_allclose(without, own.encode(texts, prompt="", normalize_embeddings=True), atol=1e-5)
        assert abs(without - expected).max() > 1e-3


def test_sentence_transformers_read_at_most_max_length_tokens(bert: Path) -> None:
    short = embedder(bert, max_length=12)
    own = package(bert)
    own.max_seq_length = 12
    np.testing.assert_allclose(chunk_vectors(short, TEXTS), own.encode(TEXTS, normalize_embeddings=True), atol=1e-5)
    assert short.token_limit() == 12
    assert abs(chunk_vectors(short, [LONG]) - chunk_vectors(embedder(bert), [LONG])).max() > 1e-3


def test_sentence_transformers_cap_max_length_at_the_model_positions(folder: Path) -> None:
    longer = embedder(folder, max_length=10 * MAX_TOKENS)
    assert longer.token_limit() == MAX_TOKENS
    np.testing.assert_array_equal(chunk_vectors(longer, [LONG]), chunk_vectors(embedder(folder), [LONG]))


def test_long_texts_are_an_error_with_truncation_error(bert: Path) -> None:
    strict = embedder(bert, truncation=Truncation.ERROR, max_length=10, passage_prefix="首都")
    assert chunk_vectors(strict, ["获奖获奖获奖"]).any()
    with pytest.raises(ComponentError, match=r"reads 10 tokens: 1 of 2 chunks are longer, up to 11 tokens, expected"):
        chunk_vectors(strict, ["获奖获奖获奖人", "北京"])
    with pytest.raises(ComponentError, match="queries are longer"):
        query_vectors(strict, [LONG])


def test_equal_texts_are_embedded_once_and_blank_texts_never(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentence_transformers import SentenceTransformer

    read: list[str] = []
    preprocess = SentenceTransformer.preprocess
    monkeypatch.setattr(
        SentenceTransformer,
        "preprocess",
        lambda self, inputs, **options: read.extend(inputs) or preprocess(self, inputs, **options),
    )
    vectors = chunk_vectors(embedder(bert), ["北京", " ", "上海", "北京", "", "上海"])
    assert sorted(read) == ["上海", "北京"]
    np.testing.assert_array_equal(vectors[[0, 2]], vectors[[3, 5]])
    assert not vectors[[1, 4]].any()


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
def test_half_precision_vectors_are_close_to_full_precision(bert: Path, dtype: Dtype) -> None:
    vectors = chunk_vectors(embedder(bert, dtype=dtype), TEXTS)
    assert vectors.dtype == np.float32
    cosines = (vectors * chunk_vectors(embedder(bert), TEXTS)).sum(axis=1)
    assert cosines.min() > 0.99
    assert abs(vectors - chunk_vectors(embedder(bert), TEXTS)).max() > 1e-4, "float32 would be nearer"


def test_non_finite_vectors_are_an_error_of_sentence_transformers(bert: Path, tmp_path: Path) -> None:
    import torch

    broken = package(bert)
    with torch.no_grad():
        broken[0].auto_model.embeddings.LayerNorm.weight.fill_(float("inf"))
    broken.save(str(tmp_path), create_model_card=False)
    with pytest.raises(ComponentError, match="NaN or infinite numbers in 1 of 1 vectors with dtype=float32"):
        chunk_vectors(embedder(tmp_path), ["北京"])


def test_sentence_transformers_model_is_loaded_once(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sentence_transformers

    release_all_but(())
    loads = []
    load = sentence_transformers.SentenceTransformer

    def counting(name: str, **options: Any) -> Any:
        loads.append(name)
        return load(name, **options)

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", counting)
    for batch_tokens in (64, 128):
        chunk_vectors(embedder(bert, batch_tokens=batch_tokens), TEXTS[:3])
        query_vectors(embedder(bert, batch_tokens=batch_tokens), TEXTS[:3])
    assert loads == [str(bert)]


def test_model_folder_is_identified_by_its_content(bert: Path, xlm_roberta: Path) -> None:
    assert describe(embedder(bert)) == describe(replace(embedder(bert), batch_tokens=7))
    assert describe(embedder(bert))["content"] != describe(embedder(xlm_roberta))["content"]
    assert describe(embedder(bert)) != describe(embedder(bert, truncation=Truncation.ERROR))


def test_sentence_transformers_settings_are_checked_without_loading() -> None:
    wrong = SentenceTransformers("owner/name", "main", max_length=2, batch_tokens=0, n_processes=-1)
    fields = [problem.partition(":")[0] for problem in wrong.check()]
    assert fields == ["revision", "max_length", "batch_tokens", "n_processes"]


def test_sweep_reports_truncated_texts(bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("retriever=dense", "llm=none", *RANKING_ONLY, "embedder=sentence_transformers")
    chosen = (*options, f"embedder.model={bert}", "embedder.max_length=100", "embedder.device=cpu")
    assert run_small(tmp_path, chosen) == 0
    chunks, queries = cells_in(tmp_path)[0].cut_texts
    assert chunks["texts"] == "chunks"
    assert (chunks["limit"], queries["texts"], queries["n"]) == (100, "queries", 12)
    assert 0 < chunks["n_cut"] < chunks["n"]
    shown = " ".join(capsys.readouterr().out.split())
    assert "reads 100 tokens of a chunk at chunk.size=128" in shown
    assert f"reads 100 tokens: {chunks['n_cut']:,} of {chunks['n']:,} chunks were truncated there" in shown


def test_model_that_refuses_longer_chunks_is_rejected_by_the_plan(
    bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = (f"embedder.model={bert}", "embedder.max_length=100", "embedder.device=cpu", "embedder.truncation=error")
    options = ("retriever=dense", "llm=none", *RANKING_ONLY, "embedder=sentence_transformers", *model)
    assert run_small(tmp_path, options) == 2
    error = capsys.readouterr().err
    assert "reads 100 tokens of a chunk at chunk.size=128" in error
    assert "With truncation=error these fail the cell; truncation=cut reads their beginning" in error


def test_unreachable_hub_model_is_rejected_by_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    model = ("embedder=sentence_transformers", "embedder.model=owner/name", f"embedder.revision={'0' * 40}")
    chosen = ("retriever=dense", "llm=none", *RANKING_ONLY, *model)
    assert run_small(tmp_path, chosen) == 2
    assert "model 'owner/name' cannot be loaded" in capsys.readouterr().err
    assert run_small(tmp_path, (*chosen, "run.plan_only=true")) == 0
    assert "model 'owner/name' cannot be loaded" in capsys.readouterr().out
