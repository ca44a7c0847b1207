"""One pass of an encoder for three searches and a reranker, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from components.encodings import Encodings
from components.fusions.rrf import ReciprocalRank
from components.records import Hits, Passages
from components.rerankers.late_interaction import LateInteraction
from components.rerankers.none import NoReranker
from components.token_similarity import score_pairs
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.ranking.rerank_stages import RerankedHits
from runner.pipeline.search import encoded_blocks
from runner.pipeline.search.encoded_search import EncodedChunks, EncodedQueries, LateInteractionHits
from tests.contracts.ranking_checks import rankings_of
from tests.runner.pipeline.fixed import FixedData, LetterHeads, bm25, fixed_cell, graph_in, run_all, three_way


@dataclass(frozen=True)
class Breakable(LetterHeads):
    """Remembers the texts of every call, and breaks at the call number `breaks_at` (from 1)."""

    calls: ClassVar[list[list[str]]] = []
    breaks_at: ClassVar[int] = 0

    def encode_chunks(self, chunks: Passages) -> Encodings:
        if len(self.calls) + 1 == self.breaks_at:
            raise KeyboardInterrupt
        self.calls.append(list(chunks.texts))
        return super().encode_chunks(chunks)

    def encode_queries(self, queries: Passages) -> Encodings:
        return super().encode_chunks(queries)


@pytest.fixture(autouse=True)
def _reset(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(encoded_blocks, "BLOCK_CHARACTERS", 70)
    Breakable.calls.clear()
    Breakable.breaks_at = 0
    yield
    Breakable.breaks_at = 0


def cell(**fields: Any) -> Any:
    return fixed_cell(**{"retriever": three_way(Breakable()), "reranker": LateInteraction(Breakable()), **fields})


def stages(store: Store, kind: type[Stage[Any]], **fields: Any) -> list[Any]:
    return [stage for stage in graph_in(store, cell(**fields)).result.upstream() if isinstance(stage, kind)]


def decode_stored(store: Store, stage: Stage[Any]) -> Any:
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return stage.codec.decode(entry.parts())


def stored_bytes(store: Store) -> dict[str, bytes]:
    (stage,) = stages(store, EncodedChunks)
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return {file: (entry.folder / file).read_bytes() for file in entry.manifest.files}


def test_chunk_is_encoded_once_for_all_searches_and_rerankers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    base = three_way(Breakable())
    uneven = replace(base, fusion=ReciprocalRank(weights=(1.0, 0.3, 1.0)))
    for retriever in (base, uneven, replace(base, depth=3), replace(base, exhaustive=True), bm25()):
        for reranker in (LateInteraction(Breakable()), LateInteraction(Breakable(), depth=2)):
            run_all(store, *stages(store, RerankedHits, retriever=retriever, reranker=reranker))
    texts = list(chain(*Breakable.calls))
    assert len(Breakable.calls) > 3
    assert len(texts) == len(set(texts))


def test_encodings_in_blocks_equal_a_single_block_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several, single = Store(tmp_path / "several"), Store(tmp_path / "single")
    run_all(several, *stages(several, EncodedChunks))
    n_blocks = len(Breakable.calls)
    monkeypatch.setattr(encoded_blocks, "BLOCK_CHARACTERS", 1_000_000)
    run_all(single, *stages(single, EncodedChunks))
    assert n_blocks >= 4
    assert len(Breakable.calls) == n_blocks + 1
    assert stored_bytes(several) == stored_bytes(single)


def test_encoded_chunks_are_not_encoded_again_after_a_kill(tmp_path: Path) -> None:
    store, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    Breakable.breaks_at = 3
    with pytest.raises(KeyboardInterrupt):
        list(run_stages(make_plan([(*stages(store, EncodedChunks), 1)], store).order, store, Local()))
    Breakable.breaks_at = 0
    assert len(Breakable.calls) == 2
    run_all(store, *stages(store, EncodedChunks))
    texts = list(chain(*Breakable.calls))
    assert len(texts) == len(set(texts))
    run_all(whole, *stages(whole, EncodedChunks))
    assert stored_bytes(store) == stored_bytes(whole)


def test_chunk_longer_than_a_block_forms_its_own_block() -> None:
    lengths = np.array([30, 30, 200, 40, 30, 30], dtype=np.int32)
    assert [(rows.start, rows.stop) for rows in encoded_blocks.split_into_blocks(lengths)] == [
        (0, 2),
        (2, 3),
        (3, 5),
        (5, 6),
    ]


def test_late_interaction_scores_dense_and_sparse_hits(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_all(store, *stages(store, RerankedHits))
    (late,), (chunks,), (queries,) = (
        stages(store, kind) for kind in (LateInteractionHits, EncodedChunks, EncodedQueries)
    )
    hits: Hits = decode_stored(store, late)
    of_queries, of_chunks = decode_stored(store, queries).multi, decode_stored(store, chunks).multi
    found_before = [rankings_of(decode_stored(store, stage)) for stage in late.candidates]
    for query, (ranking, scores) in enumerate(zip(rankings_of(hits), hits.score, strict=True)):
        union = sorted({chunk for rankings in found_before for chunk in rankings[query]})
        pairs = np.array([(query, chunk) for chunk in union], dtype=np.int32)
        by_score = dict(zip(union, score_pairs(of_queries, of_chunks, pairs).tolist(), strict=True))
        assert ranking == sorted(union, key=lambda chunk: -by_score[chunk])[: late.depth]
        np.testing.assert_allclose(scores[: len(ranking)], [by_score[chunk] for chunk in ranking])


def test_depth_beyond_the_corpus_makes_every_chunk_a_candidate(tmp_path: Path) -> None:
    """Every chunk shares a letter with every question."""
    store = Store(tmp_path)
    found = []
    for exhaustive in (False, True):
        fields = {"retriever": three_way(Breakable(), depth=100, exhaustive=exhaustive), "reranker": NoReranker()}
        (late,) = stages(store, LateInteractionHits, **fields)
        run_all(store, late)
        found.append(decode_stored(store, late))
    assert rankings_of(found[0]) == rankings_of(found[1])


def test_late_interaction_searches_parallel_corpora_separately(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for exhaustive in (False, True):
        fields = {"dataset": FixedData(side_by_side=True), "retriever": three_way(Breakable(), exhaustive=exhaustive)}
        (reranked,) = stages(store, RerankedHits, **fields)
        run_all(store, reranked)
        (late,) = stages(store, LateInteractionHits, **fields)
        documents = decode_stored(store, reranked.chunks.chunks).document
        for hits in (decode_stored(store, late), decode_stored(store, reranked)):
            east, west = rankings_of(hits)[:2], rankings_of(hits)[2:]
            assert all(ranking and {documents[chunk] for chunk in ranking} <= {0, 1} for ranking in east)
            assert all(ranking and {documents[chunk] for chunk in ranking} <= {2, 3} for ranking in west)


def test_reranked_scores_equal_scores_of_stored_encodings(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_all(store, *stages(store, RerankedHits))
    (reranked,) = stages(store, RerankedHits)
    hits: Hits = decode_stored(store, reranked)
    queries, chunks = reranked.queries.queries, reranked.chunks
    texts = decode_stored(store, queries).texts
    documents, spans = decode_stored(store, chunks.corpus), decode_stored(store, chunks.chunks)
    passages = Passages(
        [documents.texts[d][s:e] for d, s, e in zip(spans.document, spans.start, spans.end, strict=True)]
    )
    pairs = np.array([(query, chunk) for query, row in enumerate(rankings_of(hits)) for chunk in row], dtype=np.int32)
    expected = LateInteraction(Breakable()).score(Passages(texts), passages, pairs)
    np.testing.assert_allclose(hits.score[hits.chunk >= 0], expected)


def test_encoder_that_drops_a_text_fails_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LetterHeads.encode_chunks

    def shorter(self: LetterHeads, chunks: Passages) -> Encodings:
        return whole(self, Passages(chunks.texts[:-1]))

    monkeypatch.setattr(LetterHeads, "encode_chunks", shorter)
    store = Store(tmp_path)
    order = make_plan([(*stages(store, EncodedChunks), 1)], store).order
    (error,) = [run.error for run in run_stages(order, store, Local()) if run.failed]
    assert "Breakable: got" in str(error)
