"""Token vectors of tiny ColBERT models, compared with vectors of the package sentence-transformers."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components import token_similarity
from components.encodings import MultiEncodings
from components.errors import ComponentError
from components.multi_vector_encoders.multi_vector_text_encoder import MultiVectorTextEncoder
from components.pretrained import features
from components.pretrained.load_once import release_all_but
from components.protocols import EncodedReranker, ReadsQueriesInPart
from components.records import Passages
from components.rerankers.late_interaction import LateInteraction
from tests.contracts.ranking_checks import rankings_of
from tests.contracts.reranker_contract import CHUNKS as RERANKED
from tests.contracts.reranker_contract import QUERIES as ASKED
from tests.contracts.reranker_contract import RerankerContract
from tests.contracts.token_vector_encoder_contract import TokenVectorEncoderContract
from tests.extras import skip_without
from tests.models.tiny import (
    MAX_TOKENS,
    save_bert,
    save_colbert,
    save_pylate_colbert,
    save_sentence_encoder,
    save_stanford_colbert,
)
from tests.runner.sweeping import RANKING_ONLY, cells_in, run_small

skip_without("sentence_transformers", "torch")

_DRAW = random.Random(0)
_SIGNS = "北京是中国的首都上海杭州浙江省会 abc 12。"


def _drawn(n: int, longest: int) -> list[str]:
    return ["京" + "".join(_DRAW.choices(_SIGNS, k=_DRAW.randint(1, longest))) for _ in range(n)]


QUERIES, CHUNKS = _drawn(60, 40), _drawn(150, MAX_TOKENS + 100)

_MASKS = {"strategy": "fixed", "attend": False, "length": 32}
_COLBERT = partial(
    save_colbert,
    prompts={"query": "abc ", "document": "12 "},
    skipped="。，",
    document_length=120,
    query_expansion=_MASKS,
)
LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "expanded": _COLBERT,
    "attended": partial(save_colbert, query_expansion={**_MASKS, "attend": True}),
    "filled up": partial(save_colbert, query_length=36, query_expansion={**_MASKS, "strategy": "min"}),
    "not expanded": partial(save_colbert, query_length=20),
    "pylate": save_pylate_colbert,
    "stanford": save_stanford_colbert,
}
LIMITS = {
    "expanded": (120, 32),
    "attended": (MAX_TOKENS, 32),
    "filled up": (MAX_TOKENS, 36),
    "not expanded": (MAX_TOKENS, 20),
    "pylate": (100, 20),
    "stanford": (100, 24),
}


@pytest.fixture(scope="module")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield _COLBERT(tmp_path_factory.mktemp("colbert"))
    release_all_but(())


@pytest.fixture(scope="module", params=LAYOUTS)
def layout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, LAYOUTS[request.param](tmp_path_factory.mktemp("layout"))


def encoder(folder: Path, **fields: Any) -> MultiVectorTextEncoder:
    return MultiVectorTextEncoder(str(folder), "", device="cpu", **fields)


def package(folder: Path) -> Any:
    from sentence_transformers import MultiVectorEncoder

    return MultiVectorEncoder(str(folder), device="cpu")


def vectors_by_text(found: MultiEncodings) -> list[np.ndarray]:
    return np.split(found.vectors.astype(np.float32), found.vector_offsets[1:-1])


def assert_equal_vectors(found: MultiEncodings, expected: list[Any]) -> None:
    for own, theirs in zip(vectors_by_text(found), expected, strict=True):
        np.testing.assert_allclose(own, theirs.numpy(), atol=1e-3)  # half precision


class TestMultiVectorTextEncoder(TokenVectorEncoderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, colbert: Path) -> None:
        self.component = encoder(colbert)


class TestLateInteraction(RerankerContract):
    rounding = 1e-3  # half precision

    @pytest.fixture(autouse=True)
    def _tiny(self, colbert: Path) -> None:
        self.component = LateInteraction(encoder(colbert))

    def test_late_interaction_scores_of_stored_vectors_equal_direct_scores(self) -> None:
        assert isinstance(self.component, EncodedReranker)
        own = self.component.encoder
        assert isinstance(own, MultiVectorTextEncoder)
        pairs = np.array([(0, 3), (1, 0), (0, 0)], dtype=np.int32)
        queries, chunks = own.encode_query_tokens(Passages(ASKED)), own.encode_chunk_tokens(Passages(RERANKED))
        found = self.component.score_encoded(queries, chunks, pairs)
        np.testing.assert_allclose(found, self.score(pairs), atol=self.rounding)


def test_multi_vector_rankings_equal_the_package(layout: tuple[str, Path]) -> None:
    """All 60 queries rank the 150 chunks as the package's MaxSim does, with vectors in half precision.

    Scores that differ by less than 2e-4 may swap. Half precision itself changes a mean over tokens by less than 3e-4.
    """
    _, folder = layout
    component, expected = encoder(folder), package(folder)
    queries, chunks = component.encode_query_tokens(Passages(QUERIES)), component.encode_chunk_tokens(Passages(CHUNKS))
    of_queries, of_chunks = expected.encode_query(QUERIES), expected.encode_document(CHUNKS)
    assert_equal_vectors(queries, of_queries)
    assert_equal_vectors(chunks, of_chunks)
    n_tokens = np.array([len(own) for own in of_queries])
    exact = expected.similarity(of_queries, of_chunks).numpy() / n_tokens[:, np.newaxis]
    rounded = ([own.half().float() for own in texts] for texts in (of_queries, of_chunks))
    scores = expected.similarity(*rounded).numpy() / n_tokens[:, np.newaxis]
    hits = token_similarity.best_chunks(queries.multi, chunks.multi, len(CHUNKS))
    for query, ranking in enumerate(rankings_of(hits)):
        assert sorted(ranking) == list(range(len(CHUNKS)))
        np.testing.assert_allclose(hits.score[query], scores[query, ranking], atol=2e-4)
        np.testing.assert_allclose(hits.score[query], exact[query, ranking], atol=3e-4)
        assert np.diff(scores[query, ranking]).max() < 2e-4


def test_multi_vector_token_limits_equal_the_model_files(layout: tuple[str, Path]) -> None:
    name, folder = layout
    component, expected = encoder(folder), package(folder)
    assert isinstance(component, ReadsQueriesInPart)
    assert (component.token_limit(), component.query_token_limit()) == LIMITS[name]
    short = [text[:8] for text in CHUNKS[:20]]
    for count, side in ((component.count_query_tokens, "query"), (component.count_chunk_tokens, "document")):
        read = [expected.preprocess([text], prompt=expected.prompts[side])["input_ids"].shape[1] for text in short]
        assert count(short).tolist() == read


def test_skipped_tokens_of_documents_have_no_vectors(colbert: Path) -> None:
    found = encoder(colbert).encode_chunk_tokens(Passages(["北京", "北。京。"]))
    assert len(np.unique(np.diff(found.vector_offsets))) == 1
    found = encoder(colbert).encode_query_tokens(Passages(["北京", "北。京。"]))
    assert np.diff(found.vector_offsets).tolist() == [32, 32]


def test_configured_prefixes_override_the_prefixes_of_the_model(colbert: Path) -> None:
    found = encoder(colbert, query_prefix="12 ", passage_prefix="")
    assert_equal_vectors(
        found.encode_query_tokens(Passages(QUERIES[:3])), package(colbert).encode_query(QUERIES[:3], prompt="12 ")
    )
    assert_equal_vectors(
        found.encode_chunk_tokens(Passages(CHUNKS[:3])), package(colbert).encode_document(CHUNKS[:3], prompt="")
    )


def test_configured_lengths_override_the_model_files(layout: tuple[str, Path]) -> None:
    """No length exceeds the positions of the model. An expanded query has the given length."""
    name, folder = layout
    shorter = encoder(folder, max_length=30, max_query_length=12)
    assert (shorter.token_limit(), shorter.query_token_limit()) == (30, 12)
    is_expanded = name != "not expanded"
    found = shorter.encode_query_tokens(Passages(["北", "北京" * 20]))
    assert np.diff(found.vector_offsets).tolist() == [12 if is_expanded else 3, 12]
    assert np.diff(shorter.encode_chunk_tokens(Passages(["北京" * 20])).vector_offsets).max() == 30
    longer = encoder(folder, max_length=10_000, max_query_length=50)
    assert (longer.token_limit(), longer.query_token_limit()) == (MAX_TOKENS, 50)
    assert np.diff(longer.encode_query_tokens(Passages(["北京" * 40])).vector_offsets).tolist() == [50]
    assert np.diff(longer.encode_chunk_tokens(Passages(["北京" * 200])).vector_offsets).max() == MAX_TOKENS


def test_multi_vector_batch_size_changes_only_rounding(colbert: Path) -> None:
    expected = encoder(colbert).encode_chunk_tokens(Passages(CHUNKS[:20]))
    found = replace(encoder(colbert), batch_tokens=1).encode_chunk_tokens(Passages(CHUNKS[:20]))
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-3)


def test_multi_vector_encoder_encodes_equal_texts_once(colbert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = features.preprocess

    def noted(of: Any, texts: list[str], **options: Any) -> Any:
        read.extend(texts)
        return whole(of, texts, **options)

    monkeypatch.setattr("components.pretrained.multi_vector_model.preprocess", noted)
    encoder(colbert).encode_chunk_tokens(Passages(["北京", "杭州", "北京", " "]))
    assert sorted(read) == ["北京", "杭州"]


def test_multi_vector_encoder_rejects_a_model_without_token_vectors(tmp_path: Path) -> None:
    """The package would add a projection with random weights."""
    bert = save_bert(tmp_path / "bert")
    for folder in (bert, save_sentence_encoder(tmp_path / "sentences", bert, max_tokens=100)):
        with pytest.raises(ComponentError, match=r"random weights, expected a ColBERT checkpoint"):
            encoder(folder).encode_chunk_tokens(Passages(CHUNKS[:1]))


def test_multi_vector_check_reports_all_invalid_fields() -> None:
    assert encoder(Path("/missing"), max_length=1, max_query_length=2, batch_tokens=0).check() == [
        "model: the folder /missing does not exist",
        "max_length: got 1, expected at least 3: two of them are special tokens",
        "max_query_length: got 2, expected at least 3: two of them are special tokens",
        "batch_tokens: got 0, expected at least 1, or null to choose by device",
    ]


def test_multi_vector_encoder_rejects_non_finite_vectors(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = save_colbert(tmp_path)
    (projection,) = folder.glob("1_*/model.safetensors")
    save_file({name: weights * float("nan") for name, weights in load_file(projection).items()}, projection)
    with pytest.raises(ComponentError, match="NaN or infinite token vectors with dtype=float32"):
        encoder(folder).encode_query_tokens(Passages(QUERIES[:2]))


def test_multi_vector_batch_beyond_the_memory_suggests_a_smaller_one(
    colbert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    def refuse(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr("sentence_transformers.multi_vector_encoder.modules.MultiVectorMask.forward", refuse)
    with pytest.raises(ComponentError, match=r"a batch of 1000 tokens does not fit .* Try 500 \(CUDA out of memory\)"):
        encoder(colbert, batch_tokens=1000).encode_chunk_tokens(Passages(CHUNKS))


def test_multi_vector_sweep_searches_and_counts_cut_texts(
    colbert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_encoder = (f"model={colbert}", "max_length=100", "max_query_length=12", "device=cpu")
    alone = ("retriever=colbert", *(f"retriever.encoder.{field}" for field in of_encoder))
    narrowed = (*alone, "+retriever/arm@retriever.candidates.bm25=bm25", "retriever.depth=20")
    reranked = ("retriever=bm25", "reranker=colbert", *(f"reranker.encoder.{field}" for field in of_encoder))
    fused = (
        "retriever=arms",
        "+retriever/arm@retriever.searches.colbert=colbert",
        "retriever.searches.colbert.candidates=[${retriever.searches.bm25}]",
        *(f"retriever.searches.colbert.encoder.{field}" for field in of_encoder),
    )
    jobs = (alone, narrowed, reranked, fused)
    assert run_small(tmp_path, *((*options, "llm=none", *RANKING_ONLY) for options in jobs)) == 0
    of_jobs = [[entry for entry in cell.cut_texts if entry["model"] == str(colbert)] for cell in cells_in(tmp_path)]
    (chunks, queries), *_ = of_jobs
    assert of_jobs == [[chunks, queries]] * 4
    assert (chunks["texts"], chunks["limit"], queries["texts"], queries["limit"]) == ("chunks", 100, "queries", 12)
    assert 0 < chunks["n_cut"] < chunks["n"]
    assert 0 < queries["n_cut"] <= queries["n"] == 12
    shown = " ".join(capsys.readouterr().out.split())
    assert "reads 100 tokens of a chunk at chunk.size=128" in shown
    assert f"reads 12 tokens: {queries['n_cut']:,} of 12 queries were truncated there" in shown
