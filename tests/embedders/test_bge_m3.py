"""BGE-M3's three heads, compared with the package FlagEmbedding. The folder has the files of the published one."""

import pickle
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.embedders.bge_m3 import BgeM3
from components.encodings import Encodings
from components.errors import ComponentError
from components.pretrained.load_once import release_all_but
from components.protocols import ReadsTokens, SlowEmbedder, ThreeWayEncoder
from components.records import Passages
from components.rerankers.late_interaction import LateInteraction
from components.sparse_indexes.token_weights import TokenWeights
from tests.contracts.embedder_contract import EmbedderContract
from tests.extras import skip_without
from tests.models.tiny import MAX_TOKENS, save_bge_m3

skip_without("FlagEmbedding")

QUERIES = ["北京", "杭州西湖 a1 a1", "会议在北京举行，共有12人参加。"]
CHUNKS = ["上海是中国的首都。", "abc 123 北京北京", "杭州是浙江的省会，" * 60, "京", "会议在杭州举行，人参加。" * 3]
PAIRS = np.array([(q, c) for q in range(len(QUERIES)) for c in range(len(CHUNKS))], dtype=np.int32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield str(save_bge_m3(tmp_path_factory.mktemp("bge_m3")))
    release_all_but(())


@pytest.fixture(scope="module")
def published(folder: str) -> Any:
    from FlagEmbedding import BGEM3FlagModel

    return BGEM3FlagModel(folder, use_fp16=False, devices="cpu")


@pytest.fixture(scope="module")
def outputs(published: Any) -> Any:
    """Output of the package for the chunks."""
    heads = {"return_dense": True, "return_sparse": True, "return_colbert_vecs": True}
    return published.encode(CHUNKS, max_length=MAX_TOKENS, **heads)


@pytest.fixture(scope="module")
def chunks(folder: str) -> Encodings:
    return BgeM3(folder).encode_chunks(Passages(CHUNKS))


@pytest.fixture(scope="module")
def scores(published: Any) -> Any:
    """The package's scores of all pairs, by mode."""
    pairs = [(QUERIES[query], CHUNKS[chunk]) for query, chunk in PAIRS.tolist()]
    lengths = {"max_query_length": MAX_TOKENS, "max_passage_length": MAX_TOKENS}
    return published.compute_score(pairs, batch_size=len(pairs), **lengths)


class TestBgeM3AsEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, folder: str) -> None:
        self.component = BgeM3(folder)


def test_bge_m3_dense_vectors_equal_the_package(chunks: Encodings, outputs: Any, folder: str) -> None:
    np.testing.assert_allclose(chunks.dense, outputs["dense_vecs"], atol=1e-5)
    np.testing.assert_allclose(BgeM3(folder).embed_chunks(Passages(CHUNKS), {}), chunks.dense, atol=1e-6)


def test_bge_m3_token_weights_equal_the_package(chunks: Encodings, outputs: Any) -> None:
    sparse = chunks.sparse
    assert len(outputs["lexical_weights"]) == len(sparse) == len(CHUNKS)
    for row, expected in enumerate(outputs["lexical_weights"]):
        own = slice(sparse.first[row], sparse.last[row])
        assert sparse.ids[own].tolist() == sorted(int(token) for token in expected)
        np.testing.assert_allclose(sparse.weights[own], [expected[str(i)] for i in sparse.ids[own]], atol=1e-5)


def test_bge_m3_token_vectors_equal_the_package(chunks: Encodings, outputs: Any) -> None:
    multi = chunks.multi
    assert multi.vectors.dtype == np.float16
    for row, expected in enumerate(outputs["colbert_vecs"]):
        np.testing.assert_allclose(multi.vectors[multi.first[row] : multi.last[row]], expected, atol=5e-4)


def test_bge_m3_scores_equal_the_package(chunks: Encodings, folder: str, scores: Any) -> None:
    queries = BgeM3(folder).encode_queries(Passages(QUERIES))
    late = LateInteraction(BgeM3(folder)).score_encoded(queries, chunks, PAIRS)
    np.testing.assert_allclose(late, scores["colbert"], atol=5e-4)
    products = (queries.dense @ chunks.dense.T)[PAIRS[:, 0], PAIRS[:, 1]]
    np.testing.assert_allclose(products, scores["dense"], atol=1e-5)
    hits = TokenWeights().search(TokenWeights().build(chunks.sparse), queries.sparse, len(CHUNKS))
    found = {
        (q, c): s
        for q in range(len(QUERIES))
        for c, s in zip(hits.chunk[q].tolist(), hits.score[q].tolist(), strict=True)
    }
    np.testing.assert_allclose([found.get((q, c), 0) for q, c in PAIRS.tolist()], scores["sparse"], atol=1e-5)


def test_bge_m3_gives_blank_texts_zero_vectors_and_no_weights(folder: str, chunks: Encodings) -> None:
    found = BgeM3(folder).encode_chunks(Passages(["", CHUNKS[1], " \n"]))
    assert not found.dense[[0, 2]].any()
    assert np.diff(found.weight_offsets).tolist() == [0, len(found.weights), 0]
    assert np.diff(found.vector_offsets).tolist() == [0, len(found.vectors), 0]
    np.testing.assert_allclose(found.dense[1], chunks.dense[1], atol=1e-6)


def test_bge_m3_gives_empty_outputs_without_texts(folder: str) -> None:
    found = BgeM3(folder).encode_chunks(Passages([]))
    assert (found.dense.shape, found.vectors.shape, len(found.weights)) == ((0, 32), (0, 32), 0)


def test_bge_m3_batch_size_does_not_change_encodings(folder: str, chunks: Encodings) -> None:
    found = replace(BgeM3(folder), batch_tokens=1).encode_chunks(Passages(CHUNKS))
    np.testing.assert_allclose(found.dense, chunks.dense, atol=1e-5)
    np.testing.assert_array_equal(found.weight_ids, chunks.weight_ids)
    np.testing.assert_allclose(found.vectors, chunks.vectors, atol=1e-3)


def test_bge_m3_cuts_texts_at_max_length(folder: str) -> None:
    found = BgeM3(folder, max_length=10).encode_chunks(Passages(CHUNKS))
    assert np.diff(found.vector_offsets).max() == 9, "all but the first token have a vector"


def test_bge_m3_counts_tokens_before_truncation(folder: str, chunks: Encodings) -> None:
    assert isinstance(BgeM3(folder), ReadsTokens)
    assert [BgeM3(folder).token_limit(), BgeM3(folder, max_length=10).token_limit()] == [MAX_TOKENS, 10]
    counts = BgeM3(folder).count_chunk_tokens(CHUNKS)
    assert np.minimum(counts, MAX_TOKENS).tolist() == (np.diff(chunks.vector_offsets) + 1).tolist()


def test_bge_m3_is_a_three_way_encoder_and_rejects_invalid_limits(folder: str) -> None:
    assert isinstance(BgeM3(folder), ThreeWayEncoder)
    assert isinstance(BgeM3(folder), SlowEmbedder)
    assert BgeM3(folder, max_length=2, batch_tokens=0).check() == [
        "max_length: got 2, expected at least 3: two of them are special tokens",
        "batch_tokens: got 0, expected at least 1, or null to choose by device",
    ]


def test_bge_m3_batch_beyond_the_memory_suggests_a_smaller_one(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def refuse(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(torch, "relu", refuse)
    with pytest.raises(ComponentError, match=r"a batch of 1000 tokens does not fit .* Try 500 \(CUDA out of memory\)"):
        replace(BgeM3(folder), batch_tokens=1000).encode_chunks(Passages(CHUNKS))


@pytest.mark.parametrize("file", ["sparse_linear.pt", "colbert_linear.pt"])
def test_bge_m3_folder_without_a_head_is_an_error(folder: str, tmp_path: Path, file: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / file).unlink()
    with pytest.raises(ComponentError, match=f"cannot be loaded .*{file}"):
        BgeM3(str(copy)).encode_chunks(Passages(CHUNKS))


def test_bge_m3_does_not_run_code_in_a_head_file(folder: str, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "sparse_linear.pt").write_bytes(pickle.dumps({"weight": Path("anything")}))
    with pytest.raises(ComponentError, match="cannot be loaded"):
        BgeM3(str(copy)).encode_chunks(Passages(CHUNKS))
