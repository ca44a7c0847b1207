"""Headers that are searched together with chunks, and are not part of them.

With headers, a derived corpus is searched. Each of its documents consists of the chunks of a document, each below its
header. It has the same number of chunks in the same order, so that a hit is a hit on the original chunk. Prompts,
results and metrics read the original chunk.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from components.fields import runtime_only
from components.json_value import Json
from components.protocols import AskingHeaderWriter, Header, HeaderWriter
from components.records import Documents, Spans, SpanTexts
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns, SinglePart
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import CorpusCodec, DatasetStages
from runner.pipeline.corpus.reply_counts import ReplyCounts, model_problems, reply_counts, step_counts

PURPOSE = "headers"
HEADER = "header"
"""Name of the counts of headers by a language model, which are listed with the counts of judges."""

_LINE_END, _GAP = "\n", "\n\n"
"""Texts below a header, and between chunks."""


class ChunkHeaders(Stage[Sequence[str]], kind="chunk_headers", version=1):
    """The header of each chunk, from a component without a model. "" for a chunk without a header."""

    codec = SinglePart("headers")

    writer: HeaderWriter
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def make(self, run: Run) -> Sequence[str]:
        """Let the component write the headers."""
        documents, chunks = run.read(self.corpus), run.read(self.chunks)
        return _validate_headers(self.writer.write(documents, chunks), len(chunks), self.writer)


@dataclass(frozen=True)
class WrittenHeaders:
    """Headers by a language model, with the counts of replies by chunk (see `reply_counts`) and their usage."""

    headers: Sequence[str]
    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


class LLMHeaders(
    Stage[WrittenHeaders],
    kind="asked_headers",
    display_name="headers by a language model",
    version=1,
    repeats_unreadable=True,
    has_quick_inputs=True,
):
    """A header per chunk, written by a language model."""

    codec = Columns(WrittenHeaders)

    writer: AskingHeaderWriter
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    n_documents: int = runtime_only(0, "the documents are part of the corpus' key")

    @property
    def n_requests(self) -> int:
        """Number of requests, one per chunk.

        The chunks are counted ahead. If that fails, this is the number of documents.
        """
        return self.n_documents

    def make(self, run: Run) -> WrittenHeaders:
        """Request a header of every chunk."""
        documents, chunks = run.read(self.corpus), run.read(self.chunks)
        ask = run.ask(self.writer.llm, PURPOSE)
        written = self.writer.write_by_asking(documents, chunks, ask)
        headers = _validate_headers([header.text for header in written], len(chunks), self.writer)
        return WrittenHeaders(headers, reply_counts(written, len(written)), dict(ask.usage))


def _validate_headers(headers: Sequence[str], n_chunks: int, writer: object) -> list[str]:
    if len(headers) != n_chunks:
        raise contract_error(
            writer, f'got {len(headers)} headers for {n_chunks} chunks, expected one for each, "" for none'
        )
    for chunk, header in enumerate(headers):
        if not isinstance(header, str):
            raise contract_error(writer, f"the header of chunk {chunk} is {type(header).__name__}, expected a string")
    return list(headers)


AnyHeaders = ChunkHeaders | LLMHeaders


class HeadedCorpus(Stage[Documents], kind="headed_corpus", version=1):
    """Documents made of chunks below their headers."""

    codec = CorpusCodec()

    corpus: Stage[Documents]
    chunks: Stage[Spans]
    headers: tuple[AnyHeaders, ...]

    def make(self, run: Run) -> Documents:
        """Join the chunks and their headers."""
        documents, chunks = run.read(self.corpus), run.read(self.chunks)
        texts: list[list[str]] = [[] for _ in documents.ids]
        above = _header_texts(run, self.headers)
        for document, header, text in zip(
            chunks.document.tolist(), above, SpanTexts(documents.texts, chunks), strict=True
        ):
            texts[document].append(f"{header}{text}{_GAP}")
        return replace(documents, texts=["".join(pieces) for pieces in texts])


class HeadedChunks(Stage[Spans], kind="headed_chunks", version=1):
    """Spans of chunks, with their headers, in the headed corpus."""

    codec = Columns(Spans)

    chunks: Stage[Spans]
    headers: tuple[AnyHeaders, ...]

    def make(self, run: Run) -> Spans:
        """Count characters as `HeadedCorpus` writes them."""
        chunks = run.read(self.chunks)
        above = np.array([len(header) for header in _header_texts(run, self.headers)], dtype=np.int64)
        lengths = above + chunks.end - chunks.start
        ends = np.cumsum(lengths + len(_GAP))
        # For each chunk, the position of the first chunk in its document.
        first = np.searchsorted(chunks.document, chunks.document)
        before = np.concatenate([[0], ends])[first]
        start = ends - lengths - len(_GAP) - before
        return Spans(chunks.document, start.astype(np.int32), (start + lengths).astype(np.int32))


def _header_texts(run: Run, headers: Sequence[AnyHeaders]) -> Iterator[str]:
    """Yield the text above each chunk: the headers of all writers, one per line."""
    headers_by_writer = [
        run.read(stage).headers if isinstance(stage, LLMHeaders) else run.read(stage) for stage in headers
    ]
    for chunk_headers in zip(*headers_by_writer, strict=True):
        yield "".join(f"{header}{_LINE_END}" for header in chunk_headers if header.strip())


class SearchedTexts(NamedTuple):
    """The data set with the corpus to search, and the chunks of this corpus."""

    data: DatasetStages
    chunks: Stage[Spans]


def add_headers(header: Header, data: DatasetStages, chunks: Stage[Spans]) -> SearchedTexts:
    """Return the chunks to search: with their headers, if there are any."""
    if not header.writers:
        return SearchedTexts(data, chunks)
    headers = tuple(_headers(writer, data, chunks) for writer in header.writers)
    return SearchedTexts(
        replace(data, corpus=HeadedCorpus(data.corpus, chunks, headers)), HeadedChunks(chunks, headers)
    )


def _headers(writer: HeaderWriter | AskingHeaderWriter, data: DatasetStages, chunks: Stage[Spans]) -> AnyHeaders:
    if isinstance(writer, AskingHeaderWriter):
        return LLMHeaders(writer, data.corpus, chunks, data.n_documents)
    return ChunkHeaders(writer, data.corpus, chunks)


def find_llm_headers(searched: SearchedTexts) -> tuple[LLMHeaders, ...]:
    """Return the stages that requested headers of these chunks from a language model."""
    stages = searched.chunks.headers if isinstance(searched.chunks, HeadedChunks) else ()
    return tuple(stage for stage in stages if isinstance(stage, LLMHeaders))


def header_counts(run: Run, stages: Sequence[LLMHeaders]) -> dict[str, ReplyCounts]:
    """Return the counts of headers by a language model under HEADER, or {} if no model wrote headers."""
    return step_counts(HEADER, map(run.read, stages))


def header_problems(header: Header) -> list[str]:
    """Return error messages for writers with another kind of model than a language model."""
    models = [writer.llm for writer in header.writers if isinstance(writer, AskingHeaderWriter)]
    return model_problems(HEADER, "headers", models)
