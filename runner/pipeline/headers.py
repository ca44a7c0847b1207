"""Headers that are searched together with chunks, and are no part of them.

Where there are any, a corpus of its own is searched, whose documents are their chunks in a row, each below its header:
as many chunks in the same order, so that a hit is a hit on the chunk itself. Prompts, results and metrics see that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from components.errors import ComponentError
from components.protocols import Header, HeaderWriter
from components.records import Documents, Spans, SpanTexts
from runner.engine.codecs import Codec, Columns, Single
from runner.engine.run import Run
from runner.engine.stage import Stage
from runner.pipeline.data import CorpusCodec, Data

_LINE_END, _GAP = "\n", "\n\n"
"""Below a header, and between chunks."""


@dataclass(frozen=True, eq=False)
class ChunkHeaders(Stage[Sequence[str]]):
    """A header per chunk."""

    kind: ClassVar[str] = "chunk_headers"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Sequence[str]]] = Single("headers")

    writer: HeaderWriter
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def make(self, run: Run) -> Sequence[str]:
        """Has them written."""
        documents, chunks = run.read(self.corpus), run.read(self.chunks)
        headers = list(self.writer.write(documents, chunks))
        if len(headers) != len(chunks):
            raise ComponentError(
                f"{type(self.writer).__name__}: got {len(headers)} headers for {len(chunks)} chunks, wanted one for "
                'each, "" for none'
            )
        return headers


@dataclass(frozen=True, eq=False)
class HeadedCorpus(Stage[Documents]):
    """Documents made of chunks below their headers."""

    kind: ClassVar[str] = "headed_corpus"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Documents]] = CorpusCodec()

    corpus: Stage[Documents]
    chunks: Stage[Spans]
    headers: tuple[Stage[Sequence[str]], ...]

    def make(self, run: Run) -> Documents:
        """Puts them together."""
        documents, chunks = run.read(self.corpus), run.read(self.chunks)
        texts: list[list[str]] = [[] for _ in documents.ids]
        above = _above(run, self.headers, len(chunks))
        for document, header, text in zip(
            chunks.document.tolist(), above, SpanTexts(documents.texts, chunks), strict=True
        ):
            texts[document].append(f"{header}{text}{_GAP}")
        return replace(documents, texts=["".join(own) for own in texts])


@dataclass(frozen=True, eq=False)
class HeadedChunks(Stage[Spans]):
    """Where chunks are in the headed corpus, with their headers."""

    kind: ClassVar[str] = "headed_chunks"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Spans]] = Columns(Spans)

    chunks: Stage[Spans]
    headers: tuple[Stage[Sequence[str]], ...]

    def make(self, run: Run) -> Spans:
        """Counts characters as `HeadedCorpus` writes them."""
        chunks = run.read(self.chunks)
        above = np.array([len(header) for header in _above(run, self.headers, len(chunks))], dtype=np.int64)
        lengths = above + chunks.end - chunks.start
        ends = np.cumsum(lengths + len(_GAP))
        first = np.searchsorted(chunks.document, chunks.document)  # of each chunk's document
        before = np.concatenate([[0], ends])[first]
        start = ends - lengths - len(_GAP) - before
        return Spans(chunks.document, start.astype(np.int32), (start + lengths).astype(np.int32))


def _above(run: Run, headers: Sequence[Stage[Sequence[str]]], n_chunks: int) -> Iterator[str]:
    """What stands above each chunk: the headers of all writers, each in a line of its own."""
    for own in zip(*(run.read(stage) for stage in headers), strict=True) if headers else [()] * n_chunks:
        yield "".join(f"{header}{_LINE_END}" for header in own if header.strip())


class Searched(NamedTuple):
    """A data set whose corpus is searched, and its chunks."""

    data: Data
    chunks: Stage[Spans]


def with_headers(header: Header, data: Data, chunks: Stage[Spans]) -> Searched:
    """What is searched: chunks below their headers; as they are where there are none."""
    if not header.writers:
        return Searched(data, chunks)
    headers = tuple(ChunkHeaders(writer, data.corpus, chunks) for writer in header.writers)
    return Searched(replace(data, corpus=HeadedCorpus(data.corpus, chunks, headers)), HeadedChunks(chunks, headers))
