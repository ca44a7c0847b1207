"""Token vectors of chunks, encoded block by block, and late interaction between them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from components.embedders.hashing import Hashing
from components.encodings import MultiEncodings
from components.fusions.rrf import ReciprocalRank
from components.protocols import TokenVectorEncoder
from components.records import Hits, Passages
from components.rerankers.late_interaction import LateInteraction
from components.retrievers.arms import ByEmbedding, ByLateInteraction, ByTerms
from components.retrievers.late_interaction import LateInteractionSearch
from components.retrievers.multi_arm import MultiArm
from components.sparse_indexes.bm25 import Bm25
from components.token_similarity import score_pairs
from components.tokenizers.character_bigrams import CharacterBigrams
from components.vector_indexes.faiss_index import Flat
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.ranking.rerank_stages import RerankedHits
from runner.pipeline.search import encoded_blocks
from runner.pipeline.search.dense_search import DenseHits
from runner.pipeline.search.encoded_search import LateInteractionHits
from runner.pipeline.search.sparse_search import SparseHits
from runner.pipeline.search.token_vectors import ChunkTokenVectors, QueryTokenVectors
from tests.contracts.ranking_checks import rankings_of
from tests.contracts.token_vector_encoder_contract import TokenVectorEncoderContract
from tests.runner.pipeline.fixed import FixedData, LetterVectors, bm25, fixed_cell, graph_in, run_all


@dataclass(frozen=True)
class Breakable(LetterVectors):
    """Remembers the texts of every call, and breaks at the call number `breaks_at` (from 1)."""

    calls: ClassVar[list[list[str]]] = []
    breaks_at: ClassVar[int] = 0

    def encode_chunk_tokens(self, chunks: Passages) -> MultiEncodings:
        if len(self.calls) + 1 == self.breaks_at:
            raise KeyboardInterrupt
        self.calls.append(list(chunks.texts))
        return super().encode_chunk_tokens(chunks)

    def encode_query_tokens(self, queries: Passages) -> MultiEncodings:
        return super().encode_chunk_tokens(queries)


class TestLetterVectors(TokenVectorEncoderContract):
    component: TokenVectorEncoder = LetterVectors()

    def vectors_of(self, texts: tuple[str, ...]) -> tuple[MultiEncodings, MultiEncodings]:
        return super().vectors_of(tuple(" ".join(f"x{word}" for word in text.split()) for text in texts))


@pytest.fixture(autouse=True)
def _reset(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(encoded_blocks, "BLOCK_CHARACTERS", 70)
    Breakable.calls.clear()
    Breakable.breaks_at = 0
    yield
    Breakable.breaks_at = 0


WORDS, MEANING = ByTerms(Bm25(tokenizer=CharacterBigrams())), ByEmbedding(Hashing(), Flat())
SEARCH = LateInteractionSearch(Breakable(), depth=6)


def stages(store: Store, kind: type[Stage[Any]], **fields: Any) -> list[Any]:
    cell = fixed_cell(**{"retriever": SEARCH, **fields})
    return [stage for stage in graph_in(store, cell).result.upstream() if isinstance(stage, kind)]


def decode_stored(store: Store, stage: Stage[Any]) -> Any:
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return stage.codec.decode(entry.parts())


def stored_bytes(store: Store) -> dict[str, bytes]:
    (stage,) = stages(store, ChunkTokenVectors)
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return {file: (entry.folder / file).read_bytes() for file in entry.manifest.files}


def test_token_vectors_before_a_kill_are_not_encoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The resumed result equals the result of a single block byte for byte."""
    store, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    Breakable.breaks_at = 3
    with pytest.raises(KeyboardInterrupt):
        list(run_stages(make_plan([(*stages(store, ChunkTokenVectors), 1)], store).order, store, Local()))
    Breakable.breaks_at = 0
    assert len(Breakable.calls) == 2
    run_all(store, *stages(store, ChunkTokenVectors))
    texts = list(chain(*Breakable.calls))
    assert len(texts) == len(set(texts))
    monkeypatch.setattr(encoded_blocks, "BLOCK_CHARACTERS", 1_000_000)
    run_all(whole, *stages(whole, ChunkTokenVectors))
    assert stored_bytes(store) == stored_bytes(whole)


def best(store: Store, found: Any, query: int, chunks: list[int]) -> list[int]:
    """The 6 best of these chunks for a query; of equal ones the first."""
    pairs = np.array([(query, chunk) for chunk in chunks], dtype=np.int32).reshape(-1, 2)
    scores = score_pairs(decode_stored(store, found.queries).multi, decode_stored(store, found.chunks).multi, pairs)
    return [chunks[place] for place in np.argsort(-scores, kind="stable")[:6]]


def test_late_interaction_hits_are_the_best_of_all_chunks(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (found,) = stages(store, LateInteractionHits)
    run_all(store, found)
    n_chunks = len(decode_stored(store, found.chunks))
    for query, ranking in enumerate(rankings_of(decode_stored(store, found))):
        assert ranking == best(store, found, query, list(range(n_chunks)))


def test_late_interaction_ranks_the_union_of_its_candidates(tmp_path: Path) -> None:
    """Each search for candidates equals the stage of a simpler retriever."""
    store = Store(tmp_path)
    own = {"retriever": replace(SEARCH, candidates={"words": WORDS, "meaning": MEANING})}
    (found,) = stages(store, LateInteractionHits, **own)
    run_all(store, found)
    (words,), (meaning,) = stages(store, SparseHits, retriever=bm25()), stages(store, DenseHits, **own)
    assert {candidates.key for candidates in found.candidates} == {words.key, meaning.key}
    each = [rankings_of(decode_stored(store, search)) for search in (words, meaning)]
    for query, ranking in enumerate(rankings_of(decode_stored(store, found))):
        assert ranking == best(store, found, query, sorted({*each[0][query], *each[1][query]}))


def test_late_interaction_retriever_shares_the_search_of_its_arm(tmp_path: Path) -> None:
    store = Store(tmp_path)
    arm = ByLateInteraction(Breakable(), ())
    assert SEARCH.arms == (arm,)
    fused = MultiArm({"late": arm, "words": WORDS}, {}, ReciprocalRank(weights=()), depth=6)
    (alone,), (among_others,) = (stages(store, LateInteractionHits, retriever=own) for own in (SEARCH, fused))
    assert alone.key == among_others.key


def test_late_interaction_reranker_reuses_the_vectors_of_the_search(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for retriever in (SEARCH, bm25()):
        fields = {"retriever": retriever, "reranker": LateInteraction(Breakable(), depth=3)}
        (reranked,) = stages(store, RerankedHits, **fields)
        run_all(store, reranked)
        own = {stage.key for kind in (ChunkTokenVectors, QueryTokenVectors) for stage in stages(store, kind)}
        assert {stage.key for stage in reranked.encoded} == own
    texts = list(chain(*Breakable.calls))
    assert len(texts) == len(set(texts))


def test_token_vector_search_separates_parallel_corpora(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (found,) = stages(store, LateInteractionHits, dataset=FixedData(side_by_side=True))
    run_all(store, found)
    documents = decode_stored(store, found.chunks.chunks.chunks).document
    hits: Hits = decode_stored(store, found)
    east, west = rankings_of(hits)[:2], rankings_of(hits)[2:]
    assert all(ranking and {documents[chunk] for chunk in ranking} <= {0, 1} for ranking in east)
    assert all(ranking and {documents[chunk] for chunk in ranking} <= {2, 3} for ranking in west)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"vector_offsets": np.array([0])}, "got token vectors of 0 texts"),
        ({"vectors": np.zeros((1, 26), dtype=np.float16)}, "got offsets that do not divide 1 vectors"),
        ({"vectors": np.zeros((1, 26), dtype=np.float32)}, "got vectors as float32 with 2 dimensions"),
        ({"scale": 2}, "NaN, infinite or longer than 1"),
        ({"scale": np.nan}, "NaN, infinite or longer than 1"),
    ],
)
def test_invalid_token_vectors_fail_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], problem: str
) -> None:
    whole = LetterVectors.encode_chunk_tokens
    fields = dict(change)
    scale = np.float16(fields.pop("scale", 1))

    def broken(self: LetterVectors, chunks: Passages) -> MultiEncodings:
        found = whole(self, chunks)
        return replace(replace(found, vectors=found.vectors * scale), **fields)

    monkeypatch.setattr(LetterVectors, "encode_chunk_tokens", broken)
    store = Store(tmp_path)
    order = make_plan([(*stages(store, ChunkTokenVectors), 1)], store).order
    (error,) = [run.error for run in run_stages(order, store, Local()) if run.failed]
    assert problem in str(error)
