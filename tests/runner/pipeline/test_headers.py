"""Headers are searched together with chunks, and are no part of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from components.headers.place import Place
from components.records import Documents, Spans, SpanTexts
from runner.engine.store import Store
from runner.pipeline.corpus.chunk_headers import HeadedChunks, HeadedCorpus
from runner.pipeline.corpus.chunk_stages import Chunks
from tests.runner.pipeline.fixed import CELLS, bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import read_or_make

NO_HEADER = fixed_cell(retriever=bm25())


@dataclass(frozen=True)
class EveryOther:
    """A header for every other chunk."""

    n_lacking: int = 0

    version: ClassVar[int] = 1

    @property
    def writers(self) -> "tuple[EveryOther, Place]":
        return (self, Place(section=False))

    def write(self, documents: Documents, chunks: Spans) -> Sequence[str]:
        return ["" if number % 2 else f"zebra {number}" for number in range(len(chunks) - self.n_lacking)]


def test_every_chunk_is_searched_with_its_headers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = fixed_cell(retriever=bm25(), header=EveryOther())
    graph = graph_in(store, cell)
    found = {type(stage): stage for stage in graph.result.upstream()}
    documents, headed = (read_or_make(stage, store) for stage in (graph.data.corpus, found[HeadedCorpus]))
    chunks, places = (read_or_make(found[kind], store) for kind in (Chunks, HeadedChunks))
    texts = list(SpanTexts(documents.texts, chunks))
    titles = [documents.titles[document] for document in chunks.document.tolist()]
    assert list(SpanTexts(headed.texts, places)) == [
        f"{title}\n{text}" if number % 2 else f"zebra {number}\n{title}\n{text}"
        for number, (title, text) in enumerate(zip(titles, texts, strict=True))
    ]
    assert places.document.tolist() == chunks.document.tolist()


def test_headers_are_searched_and_not_shown_in_prompts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    headed = read_or_make(graph_in(store, fixed_cell(retriever=bm25(), header=EveryOther())).result, store)
    plain = read_or_make(graph_in(store, NO_HEADER).result, store)
    assert headed.samples["prompt"].to_pylist() != []
    assert not any("zebra" in prompt for prompt in headed.samples["prompt"].to_pylist())
    scores = [[hit["score"] for hit in row] for row in headed.samples["retrieved"].to_pylist()]
    assert scores != [[hit["score"] for hit in row] for row in plain.samples["retrieved"].to_pylist()]
    places = {(hit["document_id"], hit["start"]) for row in headed.samples["retrieved"].to_pylist() for hit in row}
    chunks = read_or_make(
        next(stage for stage in graph_in(store, NO_HEADER).result.upstream() if isinstance(stage, Chunks)), store
    )
    documents = read_or_make(graph_in(store, NO_HEADER).data.corpus, store)
    known = {
        (documents.ids[document], start)
        for document, start in zip(chunks.document.tolist(), chunks.start.tolist(), strict=True)
    }
    assert places <= known, "in places of the chunks themselves"


def test_header_writer_that_drops_a_chunk_is_rejected(tmp_path: Path) -> None:
    store = Store(tmp_path)
    result = graph_in(store, fixed_cell(retriever=bm25(), header=EveryOther(n_lacking=1))).result
    with pytest.raises(AssertionError, match="EveryOther: got 8 headers for 9 chunks, expected one for each"):
        run_all(store, result)


def test_reranker_reads_headers_unless_it_reads_parents(tmp_path: Path) -> None:
    reranker = CELLS["hybrid, reranked, judged"]["reranker"]
    for chunk, reads_headers in (
        (NO_HEADER.chunk, True),
        (CELLS["parents, and headers of their children"]["chunk"], False),
    ):
        cell = fixed_cell(retriever=bm25(), header=Place(section=False), reranker=reranker, chunk=chunk)
        (stage,) = [s for s in graph_in(Store(tmp_path), cell).result.upstream() if s.kind == "reranked_hits"]
        assert ("headed_chunks" in {before.kind for before in stage.inputs}) == reads_headers
