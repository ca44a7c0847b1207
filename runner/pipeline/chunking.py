"""Cutting the corpus into chunks."""

from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Chunker, Tokenizer
from components.records import Documents, Segments, Spans
from components.text.tables import segment
from runner.engine.codecs import Codec, Columns
from runner.engine.run import Run
from runner.engine.stage import Stage


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
    segments: Stage[Segments]

    def make(self, run: Run) -> Spans:
        """Cuts along the segments."""
        return self.chunker.chunk(run.read(self.corpus), run.read(self.segments))
