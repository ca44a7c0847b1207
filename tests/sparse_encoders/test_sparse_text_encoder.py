"""Token weights of tiny encoders, compared with weights of the package sentence-transformers."""

import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.encodings import SparseEncodings
from components.errors import ComponentError
from components.pretrained.load_once import release_all_but
from components.protocols import ReadsTokens
from components.records import Passages
from components.sparse_encoders.sparse_text_encoder import SparseTextEncoder
from components.sparse_indexes.token_weights import TokenWeights
from tests.contracts.ranking_checks import rankings_of
from tests.contracts.token_weigher_contract import TokenWeigherContract
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS, save_inference_free, save_splade
from tests.runner.sweeping import RANKING_ONLY, cells_in, run_small

skip_without("sentence_transformers", "torch")

N_TOKENS = 113
_DRAW = random.Random(0)
_SIGNS = "北京是中国的首都上海杭州浙江省会 abc 12。"


def _drawn(n: int, longest: int) -> list[str]:
    return ["京" + "".join(_DRAW.choices(_SIGNS, k=_DRAW.randint(1, longest))) for _ in range(n)]


QUERIES, CHUNKS = _drawn(60, 30), _drawn(150, MAX_TOKENS + 100)


@pytest.fixture(scope="module")
def splade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield save_splade(tmp_path_factory.mktemp("splade"))
    release_all_but(())


@pytest.fixture(scope="module")
def inference_free(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_inference_free(tmp_path_factory.mktemp("inference_free"))


@pytest.fixture(params=["splade", "inference_free"])
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def encoder(folder: Path, **fields: Any) -> SparseTextEncoder:
    return SparseTextEncoder(str(folder), "", device="cpu", **fields)


def package(folder: Path) -> Any:
    from sentence_transformers import SparseEncoder

    return SparseEncoder(str(folder), device="cpu")


def dense(encodings: SparseEncodings) -> np.ndarray:
    matrix = np.zeros((len(encodings), N_TOKENS), dtype=np.float32)
    rows = np.repeat(np.arange(len(encodings)), np.diff(encodings.weight_offsets))
    matrix[rows, encodings.weight_ids] = encodings.weights
    return matrix


class TestSplade(TokenWeigherContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, splade: Path) -> None:
        self.component = encoder(splade)


class TestInferenceFree(TokenWeigherContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, inference_free: Path) -> None:
        self.component = encoder(inference_free)


@pytest.mark.parametrize("max_weights", [None, 8])
def test_sparse_weights_and_rankings_equal_the_package(folder: Path, max_weights: int | None) -> None:
    """All 60 queries have its hits in its order; scores that differ by less than 1e-4 may swap."""
    component, expected = encoder(folder, max_weights=max_weights), package(folder)
    queries, chunks = component.weigh_queries(Passages(QUERIES)), component.weigh_chunks(Passages(CHUNKS))
    of_queries = expected.encode_query(QUERIES, max_active_dims=max_weights).to_dense().numpy()
    of_chunks = expected.encode_document(CHUNKS, max_active_dims=max_weights).to_dense().numpy()
    np.testing.assert_allclose(dense(queries), of_queries, atol=1e-5)
    np.testing.assert_allclose(dense(chunks), of_chunks, atol=1e-5)
    scores = of_queries.astype(np.float64) @ of_chunks.T.astype(np.float64)
    hits = TokenWeights().search(TokenWeights().build(chunks.sparse), queries.sparse, len(CHUNKS))
    for query, ranking in enumerate(rankings_of(hits)):
        assert sorted(ranking) == np.flatnonzero(scores[query]).tolist()
        assert np.diff(scores[query, ranking]).max(initial=0) < 1e-4
    if max_weights:
        assert np.diff(chunks.weight_offsets).max() == np.diff(queries.weight_offsets).max() == max_weights


def test_sparse_encoder_uses_prompts_of_the_model_folder_unless_overridden(splade: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(splade, tmp_path / "copy")
    settings = (copy / "config_sentence_transformers.json").read_text(encoding="utf-8")
    own = settings.replace('"query": ""', '"query": "abc "').replace('"document": ""', '"document": "12 "')
    assert own != settings
    (copy / "config_sentence_transformers.json").write_text(own, encoding="utf-8")
    found = encoder(copy).weigh_queries(Passages(QUERIES[:3]))
    np.testing.assert_allclose(dense(found), package(copy).encode_query(QUERIES[:3]).to_dense().numpy(), atol=1e-5)
    found = encoder(copy, passage_prefix="").weigh_chunks(Passages(CHUNKS[:3]))
    np.testing.assert_allclose(dense(found), package(splade).encode_document(CHUNKS[:3]).to_dense().numpy(), atol=1e-5)


def test_sparse_encoder_cuts_texts_at_max_length(folder: Path) -> None:
    """The table of an inference-free model reads no special tokens."""
    long = "北京" * 40
    short, whole = encoder(folder, max_length=12), encoder(folder)
    found = short.weigh_chunks(Passages([long]))
    np.testing.assert_allclose(dense(found), dense(whole.weigh_chunks(Passages([long[:10]]))), atol=1e-5)
    table = encoder(folder, max_length=3).weigh_queries(Passages(["abc北京"]))
    assert len(table.weights)


def test_sparse_encoder_counts_tokens_before_truncation(splade: Path, inference_free: Path) -> None:
    for folder, n_special in ((splade, 2), (inference_free, 0)):
        component = encoder(folder)
        assert isinstance(component, ReadsTokens)
        assert [component.token_limit(), encoder(folder, max_length=10).token_limit()] == [MAX_TOKENS, 10]
        assert component.count_chunk_tokens(["北京" * 300]).tolist() == [602]
        assert component.count_query_tokens(["北京", ""]).tolist() == [2 + n_special, n_special]


def test_sparse_encoder_batch_size_changes_only_rounding(splade: Path) -> None:
    expected = encoder(splade).weigh_chunks(Passages(CHUNKS[:20]))
    found = replace(encoder(splade), batch_tokens=1).weigh_chunks(Passages(CHUNKS[:20]))
    np.testing.assert_allclose(dense(found), dense(expected), atol=1e-5)


def test_sparse_encoder_check_reports_all_invalid_fields() -> None:
    assert encoder(Path("/missing"), max_length=1, max_weights=0, batch_tokens=0).check() == [
        "model: the folder /missing does not exist",
        "max_length: got 1, expected at least 3: two of them are special tokens",
        "max_weights: got 0, expected at least 1, or null for the model's number",
        "batch_tokens: got 0, expected at least 1, or null to choose by device",
    ]


def test_sparse_encoder_rejects_negative_weights(inference_free: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(inference_free, tmp_path / "copy")
    (table,) = copy.glob("query_0_*/model.safetensors")
    save_file({name: -weights for name, weights in load_file(table).items()}, table)
    with pytest.raises(ComponentError, match="negative or NaN token weights"):
        encoder(copy).weigh_queries(Passages(QUERIES))


def test_sparse_batch_beyond_the_memory_suggests_a_smaller_one(splade: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def refuse(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr("sentence_transformers.sparse_encoder.modules.SpladePooling.forward", refuse)
    with pytest.raises(ComponentError, match=r"a batch of 1000 tokens does not fit .* Try 500 \(CUDA out of memory\)"):
        encoder(splade, batch_tokens=1000).weigh_chunks(Passages(CHUNKS))


def test_sparse_sweep_searches_and_counts_cut_texts(
    splade: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_encoder = (f"model={splade}", "max_length=100", "device=cpu")
    alone = ("retriever=splade", *(f"retriever.encoder.{field}" for field in of_encoder))
    fused = (
        "retriever=arms",
        "+retriever/arm@retriever.searches.splade=splade",
        *(f"retriever.searches.splade.encoder.{field}" for field in of_encoder),
    )
    assert run_small(tmp_path, *((*options, "llm=none", *RANKING_ONLY) for options in (alone, fused))) == 0
    of_alone, of_fused = (cell.cut_texts for cell in cells_in(tmp_path))
    chunks, queries = of_alone
    assert list(of_alone) == [entry for entry in of_fused if entry["model"] == str(splade)]
    assert (chunks["texts"], chunks["limit"], queries["texts"], queries["n"]) == ("chunks", 100, "queries", 12)
    assert 0 < chunks["n_cut"] < chunks["n"]
    shown = " ".join(capsys.readouterr().out.split())
    assert "reads 100 tokens of a chunk at chunk.size=128" in shown
    assert f"reads 100 tokens: {chunks['n_cut']:,} of {chunks['n']:,} chunks were truncated there" in shown
