"""Cutting the corpus into chunks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.protocols import Chunker, DescribingChunker, Tokenizer
from components.records import Documents, Segments, Spans, SpanTexts
from components.text.tables import segment
from runner.engine.codecs import Codec, Columns, Single
from runner.engine.run import Run
from runner.engine.stage import Stage

_N_DOCUMENTS = 200
_MOST_CHARACTERS = 10_000
"""So many documents, and so much of each, are cut before the work."""
_STANDARD_ERRORS = 3


@dataclass(frozen=True)
class SomeChunks:
    """The texts of chunks. All that there are are `times` as many at most, as far as these tell; 1.0: these are all."""

    texts: Sequence[str]
    times: float


@dataclass(frozen=True, eq=False)
class SegmentedCorpus(Stage[Segments]):
    """Where tokens and sentences end; without a tokenizer a token is a character."""

    kind: ClassVar[str] = "segments"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Segments]] = Columns(Segments)

    tokenizer: Tokenizer | None
    corpus: Stage[Documents]

    def make(self, run: Run) -> Segments:
        """Splits every text once, for all chunkings."""
        return segment(run.read(self.corpus).texts, self.tokenizer)


@dataclass(frozen=True, eq=False)
class Chunks(Stage[Spans]):
    """The chunks, as spans of the corpus."""

    kind: ClassVar[str] = "chunks"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Spans]] = Columns(Spans)

    chunker: Chunker
    corpus: Stage[Documents]
    segments: SegmentedCorpus

    def make(self, run: Run) -> Spans:
        """Cuts along the segments."""
        return self.chunker.chunk(run.read(self.corpus), run.read(self.segments))

    def some(self, run: Run) -> SomeChunks:
        """Those of documents from all over the corpus, for a plan that cannot wait for all of them."""
        corpus = run.read(self.corpus)
        drawn = slice(None, None, max(-(-len(corpus) // _N_DOCUMENTS), 1))
        texts = [text[:_MOST_CHARACTERS] for text in corpus.texts[drawn]]
        facts = corpus.metadata[drawn] if corpus.metadata else ()
        documents = Documents(corpus.ids[drawn], corpus.titles[drawn], texts, facts)
        spans = self.chunker.chunk(documents, segment(texts, self.segments.tokenizer))
        lengths = np.array([len(text) for text in texts])
        n_chunks = np.bincount(spans.document, minlength=len(texts))
        times = sum(map(len, corpus.texts)) / max(lengths.sum(), 1)
        if times > 1 and len(spans):  # a ratio estimate: chunks go with characters, but for what is left in the end
            off = n_chunks - lengths * (len(spans) / lengths.sum())
            times *= 1 + _STANDARD_ERRORS * off.std() * len(texts) ** 0.5 / len(spans)
        return SomeChunks(SpanTexts(texts, spans), times)


@dataclass(frozen=True, eq=False)
class ChunkFacts(Stage[Sequence[Mapping[str, str]]]):
    """What a chunker knows of its chunks, such as their sections and pages."""

    kind: ClassVar[str] = "chunk_facts"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Sequence[Mapping[str, str]]]] = Single("facts")

    chunker: DescribingChunker
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def make(self, run: Run) -> Sequence[Mapping[str, str]]:
        """Looks them up."""
        return list(self.chunker.facts(run.read(self.corpus), run.read(self.chunks)))


def chunk_facts(chunks: Stage[Spans]) -> tuple[ChunkFacts, ...]:
    """The facts that are known of chunks, if any are."""
    if isinstance(chunks, Chunks) and isinstance(chunks.chunker, DescribingChunker):
        return (ChunkFacts(chunks.chunker, chunks.corpus, chunks),)
    return ()
