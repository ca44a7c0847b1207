"""Chunks are embedded block by block: the same vectors, and a kill costs one block."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from components.protocols import EmbedderState
from components.records import Passages
from components.retrievers.dense import Dense
from components.vector_indexes.faiss_index import Flat
from runner.engine.executors.local import Local
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.store import Store
from runner.pipeline.corpus import chunk_vectors as dense
from runner.pipeline.corpus.chunk_vectors import ChunkVectors
from tests.runner.pipeline.fixed import LetterCounts, fixed_cell, graph_in, run_all


@dataclass(frozen=True)
class Breakable(LetterCounts):
    """Remembers the texts of every call, and breaks at the call number `breaks_at` (from 1)."""

    calls: ClassVar[list[list[str]]] = []
    breaks_at: ClassVar[int] = 0
    with_error: ClassVar[type[BaseException]] = KeyboardInterrupt

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        if len(self.calls) + 1 == self.breaks_at:
            raise self.with_error("broken off")
        self.calls.append(list(chunks.texts))
        return super().embed_chunks(chunks, state)

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        return super().embed_chunks(queries, state)


@pytest.fixture(autouse=True)
def _reset(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(dense, "BLOCK_CHUNKS", 2)
    Breakable.calls.clear()
    Breakable.breaks_at = 0
    yield
    Breakable.breaks_at = 0


@dataclass(frozen=True)
class Slow(Breakable):
    """Says itself how large its blocks are."""

    n_chunks_per_block: int = 3


def vectors_in(store: Store) -> ChunkVectors:
    graph = graph_in(store, fixed_cell(retriever=Dense(Breakable(), Flat(), depth=6)))
    (stage,) = [stage for stage in graph.result.upstream() if isinstance(stage, ChunkVectors)]
    return stage


def vector_bytes(store: Store) -> bytes:
    entry = store.find("vectors", vectors_in(store).key)
    assert entry is not None
    return (entry.folder / "vectors.npy").read_bytes()


def test_vectors_in_blocks_equal_a_single_block_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several, single = Store(tmp_path / "several"), Store(tmp_path / "single")
    run_all(several, vectors_in(several))
    n_blocks = len(Breakable.calls)
    monkeypatch.setattr(dense, "BLOCK_CHUNKS", 1000)
    run_all(single, vectors_in(single))
    assert n_blocks >= 4
    assert len(Breakable.calls) == n_blocks + 1
    assert list(chain(*Breakable.calls[:-1])) == Breakable.calls[-1]
    assert vector_bytes(several) == vector_bytes(single)


def test_slow_embedder_receives_blocks_of_its_own_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "BLOCK_CHUNKS", 1000)
    store = Store(tmp_path)
    graph = graph_in(store, fixed_cell(retriever=Dense(Slow(), Flat(), depth=6)))
    run_all(store, graph.result)
    sizes = [len(texts) for texts in Breakable.calls]
    assert len(sizes) > 2
    assert set(sizes[:-1]) == {3}


def _break_off(store: Store, with_error: type[BaseException]) -> None:
    """Runs until the third block, which breaks."""
    Breakable.breaks_at, Breakable.with_error = 3, with_error
    order = make_plan([(vectors_in(store), 1)], store).order
    if issubclass(with_error, Exception):
        assert [run.kind for run in run_stages(order, store, Local()) if run.failed] == ["vectors"]
    else:
        with pytest.raises(with_error):
            list(run_stages(order, store, Local()))
    Breakable.breaks_at = 0


@pytest.mark.parametrize("with_error", [KeyboardInterrupt, RuntimeError])
def test_embedded_chunks_are_not_embedded_again_after_a_kill(tmp_path: Path, with_error: type[BaseException]) -> None:
    store, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    _break_off(store, with_error)
    assert len(Breakable.calls) == 2
    later = Store(tmp_path / "broken")
    run_all(later, vectors_in(later))
    texts = list(chain(*Breakable.calls))
    assert len(texts) == len(set(texts)), "no chunk was embedded twice"
    run_all(whole, vectors_in(whole))
    assert vector_bytes(later) == vector_bytes(whole)
    assert list((tmp_path / "broken" / "workspaces").iterdir()) == []


def test_vector_blocks_of_another_size_are_not_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    _break_off(store, KeyboardInterrupt)
    monkeypatch.setattr(dense, "BLOCK_CHUNKS", 3)  # another version of this project may use another size
    run_all(store, vectors_in(store))
    run_all(whole, vectors_in(whole))
    assert vector_bytes(store) == vector_bytes(whole)


@pytest.mark.parametrize("content", [None, b""], ids=["zeros behind the header", "empty"])
def test_vector_block_damaged_by_a_power_cut_is_embedded_again(tmp_path: Path, content: bytes | None) -> None:
    store, whole = Store(tmp_path / "broken"), Store(tmp_path / "whole")
    _break_off(store, KeyboardInterrupt)
    first = min(store.workspace(vectors_in(store).key).iterdir())
    n_header = 128
    first.write_bytes(
        first.read_bytes()[:n_header] + bytes(first.stat().st_size - n_header) if content is None else content
    )
    run_all(store, vectors_in(store))
    run_all(whole, vectors_in(whole))
    assert vector_bytes(store) == vector_bytes(whole)
