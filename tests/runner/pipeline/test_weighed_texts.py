"""Token weights of chunks, encoded block by block, and the search by them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from components.encodings import SparseEncodings
from components.protocols import TokenWeigher
from components.records import Hits, Passages
from components.retrievers.arms import ByTokenWeights
from components.retrievers.learned_sparse import LearnedSparse
from components.sparse_indexes.token_weights import TokenWeights
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.search import encoded_blocks
from runner.pipeline.search.encoded_search import TokenHits
from runner.pipeline.search.weighed_texts import SparseChunkVectors
from tests.contracts.ranking_checks import rankings_of
from tests.contracts.token_weigher_contract import TokenWeigherContract
from tests.runner.pipeline.fixed import FixedData, LetterWeights, fixed_cell, graph_in, run_all


@dataclass(frozen=True)
class Breakable(LetterWeights):
    """Remembers the texts of every call, and breaks at the call number `breaks_at` (from 1)."""

    calls: ClassVar[list[list[str]]] = []
    breaks_at: ClassVar[int] = 0

    def weigh_chunks(self, chunks: Passages) -> SparseEncodings:
        if len(self.calls) + 1 == self.breaks_at:
            raise KeyboardInterrupt
        self.calls.append(list(chunks.texts))
        return super().weigh_chunks(chunks)


class TestLetterWeights(TokenWeigherContract):
    component: TokenWeigher = LetterWeights()

    def weights_of(self, texts: tuple[str, ...]) -> tuple[SparseEncodings, SparseEncodings]:
        return super().weights_of(tuple(text and f"{text}a" if text.strip() else text for text in texts))


@pytest.fixture(autouse=True)
def _reset(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(encoded_blocks, "BLOCK_CHARACTERS", 70)
    Breakable.calls.clear()
    Breakable.breaks_at = 0
    yield
    Breakable.breaks_at = 0


def stages(store: Store, kind: type[Stage[Any]], **fields: Any) -> list[Any]:
    cell = fixed_cell(**{"retriever": LearnedSparse(Breakable(), TokenWeights(), depth=6), **fields})
    return [stage for stage in graph_in(store, cell).result.upstream() if isinstance(stage, kind)]


def decode_stored(store: Store, stage: Stage[Any]) -> Any:
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return stage.codec.decode(entry.parts())


def stored_bytes(store: Store) -> dict[str, bytes]:
    (stage,) = stages(store, SparseChunkVectors)
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return {file: (entry.folder / file).read_bytes() for file in entry.manifest.files}


def test_weighed_chunks_are_not_weighed_again_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result in several blocks equals the result of a single block byte for byte."""
    store, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    Breakable.breaks_at = 3
    with pytest.raises(KeyboardInterrupt):
        list(run_stages(make_plan([(*stages(store, SparseChunkVectors), 1)], store).order, store, Local()))
    Breakable.breaks_at = 0
    assert len(Breakable.calls) == 2
    run_all(store, *stages(store, SparseChunkVectors))
    texts = list(chain(*Breakable.calls))
    assert len(texts) == len(set(texts))
    monkeypatch.setattr(encoded_blocks, "BLOCK_CHARACTERS", 1_000_000)
    run_all(whole, *stages(whole, SparseChunkVectors))
    assert stored_bytes(store) == stored_bytes(whole)


def test_token_weight_hits_have_the_largest_inner_products(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (found,) = stages(store, TokenHits)
    run_all(store, found)
    chunks, queries = decode_stored(store, found.built.encoded), decode_stored(store, found.queries)
    products = _dense(queries) @ _dense(chunks).T
    hits: Hits = decode_stored(store, found)
    for query, ranking in enumerate(rankings_of(hits)):
        assert ranking == sorted(np.flatnonzero(products[query]), key=lambda chunk: -products[query, chunk])[:6]


def _dense(weights: SparseEncodings) -> np.ndarray:
    matrix = np.zeros((len(weights), 26))
    matrix[np.repeat(np.arange(len(weights)), np.diff(weights.weight_offsets)), weights.weight_ids] = weights.weights
    return matrix


def test_token_weight_search_separates_parallel_corpora(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (found,) = stages(store, TokenHits, dataset=FixedData(side_by_side=True))
    run_all(store, found)
    documents = decode_stored(store, found.built.encoded.chunks.chunks).document
    east, west = rankings_of(decode_stored(store, found))[:2], rankings_of(decode_stored(store, found))[2:]
    assert all(ranking and {documents[chunk] for chunk in ranking} <= {0, 1} for ranking in east)
    assert all(ranking and {documents[chunk] for chunk in ranking} <= {2, 3} for ranking in west)


def test_learned_sparse_retriever_shares_the_search_of_its_arm(tmp_path: Path) -> None:
    assert LearnedSparse(Breakable(), TokenWeights()).arms == (ByTokenWeights(Breakable(), TokenWeights()),)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"weight_offsets": np.array([0])}, "got token weights of 0 texts"),
        ({"weights": np.zeros(1, dtype=np.float32)}, "infinite or not above 0"),
        ({"weight_ids": np.zeros(1_000, dtype=np.int32)}, "a token twice or out of order"),
    ],
)
def test_invalid_token_weights_fail_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], problem: str
) -> None:
    whole = LetterWeights.weigh_chunks

    def broken(self: LetterWeights, chunks: Passages) -> SparseEncodings:
        found = whole(self, chunks)
        own = {name: array[: len(getattr(found, name))] for name, array in change.items()}
        return replace(found, **own)

    monkeypatch.setattr(LetterWeights, "weigh_chunks", broken)
    store = Store(tmp_path)
    order = make_plan([(*stages(store, SparseChunkVectors), 1)], store).order
    (error,) = [run.error for run in run_stages(order, store, Local()) if run.failed]
    assert problem in str(error)
