"""Stages that cut a corpus: by a chunker, by vectors of its sentences, or into small chunks of larger chunks."""

from dataclasses import dataclass

from components.protocols import AnyChunker, EmbeddingChunker, ParentChunker
from components.records import Documents, Hits, Segments, Spans
from runner.engine.codecs import Columns
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.checked_spans import text_lengths, validate_spans
from runner.pipeline.corpus.chunk_stages import BlockSegments, cut_in_blocks
from runner.pipeline.corpus.chunk_vectors import Vectors, embed_all_blocks
from runner.pipeline.corpus.corpus_blocks import DocumentsBelow
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.corpus.parent_chunks import ChildChunks, ParentHits


@dataclass(frozen=True)
class ChunkedCorpus:
    """The chunks that are searched, and the chunks that are read. They are the same unless chunks have parents."""

    searched: Stage[Spans]
    read: Stage[Spans]

    def hits_to_read(self, hits: Stage[Hits]) -> Stage[Hits]:
        """Return the hits as chunks that are read."""
        return hits if self.searched is self.read else ParentHits(hits, self.searched, self.read)


class ChunksByVectors(Stage[Spans], kind="chunks_by_vectors", version=1):
    """Chunks whose bounds depend on vectors, such as an embedder's vectors of sentences."""

    codec = Columns(Spans)

    chunker: EmbeddingChunker
    corpus: Stage[Documents]
    segments: Stage[Segments]
    vectors: Stage[Vectors]

    def make(self, run: Run) -> Spans:
        """Cut along the vectors. Raises ComponentError for chunks that break the contract."""
        corpus = run.read(self.corpus)
        spans = self.chunker.chunk_by_vectors(corpus, run.read(self.segments), run.read(self.vectors))
        return validate_spans(spans, text_lengths(corpus.texts), self.chunker)


def chunk_corpus(chunker: AnyChunker, data: DatasetStages) -> ChunkedCorpus:
    """Return the stages of a corpus' chunks."""
    corpus, whole = data.corpus, DocumentsBelow(data.corpus)
    if isinstance(chunker, ParentChunker):
        parents = chunk_corpus(chunker.parents, data).read
        segments = BlockSegments(chunker.children.length_tokenizer, whole)
        return ChunkedCorpus(ChildChunks(chunker.children, corpus, segments, parents), parents)
    if isinstance(chunker, EmbeddingChunker):
        segments = BlockSegments(chunker.windows.length_tokenizer, whole)
        vectors = embed_all_blocks(chunker.embedder, data, cut_in_blocks(chunker.windows, data))
        chunks: Stage[Spans] = ChunksByVectors(chunker, corpus, segments, vectors)
    else:
        chunks = cut_in_blocks(chunker, data)
    return ChunkedCorpus(chunks, chunks)
