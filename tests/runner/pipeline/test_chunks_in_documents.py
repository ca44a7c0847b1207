"""Embedders that read chunks in their documents: each document once, also in blocks and after a kill."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from components.chunkers.budget import Unit
from components.chunkers.parents import ParentChunks
from components.chunkers.sentence import SentencePacking
from components.embedders.sentence_transformers import SentenceTransformers
from components.headers.place import Place
from components.pretrained.sentence_encoder import Pooling
from components.protocols import EmbedderState
from components.records import Passages, Spans
from components.retrievers.dense import Dense
from components.vector_indexes.faiss_index import Flat
from runner.engine.executors.local import Local
from runner.engine.identity import describe
from runner.engine.plan import make_plan
from runner.engine.schedule import run_stages
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.pipeline.component_conflicts import combination_problems
from runner.pipeline.corpus.chunk_vectors import ChunkVectors, JoinedVectors
from tests.runner.pipeline.fixed import LastFirst, LetterCounts, fixed_cell, graph_in, run_all


@dataclass(frozen=True)
class InDocuments(LetterCounts):
    """Counts of a chunk's letters, and of its document's. Remembers the documents of every call, and breaks at the call
    number `breaks_at` (from 1).
    """

    reads_documents: bool = True

    is_pretrained: ClassVar[Literal[True]] = True
    n_chunks_per_block: ClassVar[int] = 2
    calls: ClassVar[list[list[str]]] = []
    breaks_at: ClassVar[int] = 0

    def fit(self, documents: Passages) -> EmbedderState:
        return {"mean": np.zeros(26, dtype=np.float32)}

    def embed_in_documents(self, documents: Sequence[str], chunks: Spans) -> NDArray[np.float32]:
        if len(self.calls) + 1 == self.breaks_at:
            raise KeyboardInterrupt
        self.calls.append([documents[document] for document in np.unique(chunks.document)])
        rows = zip(chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist(), strict=True)
        texts = [documents[document][start:end] for document, start, end in rows]
        whole = [documents[document] for document in chunks.document.tolist()]
        state = self.fit(Passages(()))
        return self.embed_chunks(Passages(texts), state) + 100 * self.embed_chunks(Passages(whole), state)


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    InDocuments.calls.clear()
    InDocuments.breaks_at = 0
    yield
    InDocuments.breaks_at = 0


def retriever(**fields: Any) -> Dense:
    return Dense(InDocuments(**fields), Flat(), depth=6)


def stages(store: Store, kind: type[Stage[Any]], **fields: Any) -> list[Any]:
    cell = fixed_cell(**{"retriever": retriever(), "chunk": SentencePacking(size=30, unit=Unit.CHAR), **fields})
    return [stage for stage in graph_in(store, cell).result.upstream() if isinstance(stage, kind)]


def decode_stored(store: Store, stage: Stage[Any]) -> Any:
    entry = store.find(stage.kind, stage.key)
    assert entry is not None
    return stage.codec.decode(entry.parts())


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"refiner": LastFirst()},
        {"chunk": ParentChunks(SentencePacking(size=30, unit=Unit.CHAR), SentencePacking(size=60, unit=Unit.CHAR))},
    ],
    ids=["chunks", "refined documents", "children"],
)
def test_joined_vectors_equal_embedding_all_documents_together(tmp_path: Path, fields: dict[str, Any]) -> None:
    store = Store(tmp_path)
    (joined,) = stages(store, JoinedVectors, **fields)
    run_all(store, joined)
    documents, spans = decode_stored(store, joined.chunks.corpus), decode_stored(store, joined.chunks.chunks)
    assert len(spans) > InDocuments.n_chunks_per_block
    read = [text for call in InDocuments.calls for text in call]
    assert len(InDocuments.calls) > 1
    assert len(read) == len(set(read)), "a block ends with a document"
    expected = InDocuments().embed_in_documents(documents.texts, spans)
    np.testing.assert_array_equal(decode_stored(store, joined), expected)


def test_documents_read_before_a_kill_are_not_read_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    InDocuments.breaks_at = 3
    with pytest.raises(KeyboardInterrupt):
        list(run_stages(make_plan([(*stages(store, JoinedVectors), 1)], store).order, store, Local()))
    InDocuments.breaks_at = 0
    assert len(InDocuments.calls) == 2
    (joined,) = stages(store, JoinedVectors)
    run_all(store, joined)
    read = [text for call in InDocuments.calls for text in call]
    assert len(read) == len(set(read))
    documents, spans = decode_stored(store, joined.chunks.corpus), decode_stored(store, joined.chunks.chunks)
    np.testing.assert_array_equal(
        decode_stored(store, joined), InDocuments().embed_in_documents(documents.texts, spans)
    )


def test_embedder_that_reads_no_documents_receives_chunks(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_all(store, *stages(store, ChunkVectors, retriever=retriever(reads_documents=False)))
    assert InDocuments.calls == []


def test_headers_with_an_embedder_that_reads_documents_are_rejected() -> None:
    (problem,) = combination_problems(2, retriever(), header=Place(section=False))
    assert problem.startswith("header: got Place, but InDocuments reads chunks in their documents")
    assert combination_problems(2, retriever(reads_documents=False), header=Place(section=False)) == []


def test_default_window_overlap_is_left_out_of_the_key() -> None:
    """Stored vectors of other poolings are still found."""
    model = SentenceTransformers("owner/name", "0" * 40)
    assert "window_overlap" not in str(describe(model))
    assert "window_overlap" in str(describe(replace(model, pooling=Pooling.LATE, window_overlap=0.5)))
