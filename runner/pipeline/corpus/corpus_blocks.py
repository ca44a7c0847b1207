"""Blocks of a corpus: documents, and the chunks that they are cut into."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.errors import DamagedEntryError
from components.fields import runtime_only
from components.records import Documents, Spans
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Corpus, DatasetStages
from runner.pipeline.corpus.partition import CorpusPartition, prefix_range

_BY_CONTENT = "its content hash identifies it, wherever it is in a corpus"


@dataclass(frozen=True)
class CorpusBlock(StageGroup):
    """Some documents of a corpus, identified by their content."""

    content: str
    corpus: Stage[Documents] = runtime_only(None, _BY_CONTENT)
    partition: CorpusPartition = runtime_only(None, _BY_CONTENT)
    number: int = runtime_only(0, _BY_CONTENT)

    def rows(self, run: Run) -> NDArray[np.int64]:
        """Return the positions of the documents in the corpus, ascending."""
        partition = run.read(self.partition)
        if self.number >= len(partition.contents) or partition.contents[self.number] != self.content:
            raise DamagedEntryError(
                "another process partitioned the corpus again while this one read it. Run the sweep's command again: "
                "finished work is cached."
            )
        return np.flatnonzero(partition.block == self.number)

    def read(self, run: Run) -> Documents:
        return _select_documents(run.read(self.corpus), self.rows(run))


@dataclass(frozen=True)
class DocumentsBelow(StageGroup):
    """The documents of a corpus with ids that begin with a prefix, as one block. "" selects all documents.

    Used for a derived corpus, which cannot be partitioned before it is computed, and for stages that need all documents
    together.
    """

    corpus: Stage[Documents]
    prefix: str = ""

    def rows(self, run: Run) -> NDArray[np.int64]:
        """Return the positions of the documents in the corpus, ascending."""
        return np.arange(*prefix_range(run.read(self.corpus).ids, self.prefix))

    def read(self, run: Run) -> Documents:
        return _select_documents(run.read(self.corpus), self.rows(run))


def _select_documents(documents: Documents, rows: NDArray[np.int64]) -> Documents:
    return documents if len(rows) == len(documents) else documents.at(rows.tolist())


DocumentBlock = CorpusBlock | DocumentsBelow


def build_document_blocks(data: DatasetStages) -> tuple[DocumentBlock, ...]:
    """Return the blocks of the corpus of a data set."""
    return _blocks(data) or (DocumentsBelow(data.corpus),)


def searched_blocks(data: DatasetStages) -> tuple[tuple[DocumentBlock, ...], ...]:
    """Return the blocks of each of several corpora side by side, or of the single corpus."""
    if blocks := _blocks(data):
        return tuple(tuple(blocks[number] for number in numbers) for numbers in data.parts.of_prefix)
    return whole_corpora(data)


def whole_corpora(data: DatasetStages) -> tuple[tuple[DocumentBlock, ...], ...]:
    """Return each of the corpora of `searched_blocks` as a single block."""
    return tuple((DocumentsBelow(data.corpus, prefix),) for prefix in data.corpus_prefixes or ("",))


def _blocks(data: DatasetStages) -> tuple[CorpusBlock, ...]:
    """Return the blocks of a loaded corpus. () for a derived corpus, because its content is not known in advance."""
    if not isinstance(data.corpus, Corpus):
        return ()
    return tuple(
        CorpusBlock(content, data.corpus, data.parts.partition, number)
        for number, content in enumerate(data.parts.contents)
    )


@dataclass(frozen=True)
class ChunkBlock(StageGroup):
    """The chunks of a block, as spans of the block's documents."""

    documents: DocumentBlock
    spans: Stage[Spans]


class ChunksOfBlock(Stage[Spans], kind="chunks_of_block", display_name="selecting chunks by block", version=1):
    """The chunks of a corpus that belong to the documents of a block, as spans of these documents.

    Used for chunks that are not cut block by block.
    """

    codec = Columns(Spans)

    chunks: Stage[Spans]
    documents: DocumentBlock

    def make(self, run: Run) -> Spans:
        """Select the chunks and renumber their documents."""
        spans, rows = run.read(self.chunks), self.documents.rows(run)
        chunks = find_positions(spans, rows)
        document = np.searchsorted(rows, spans.document[chunks]).astype(np.int32)
        return Spans(document, spans.start[chunks], spans.end[chunks])


def find_positions(chunks: Spans, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the positions of the chunks of some documents in the corpus: int32, ascending.

    In a block, the chunks have the same order.
    """
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:  # the block has consecutive documents
        first, last = np.searchsorted(chunks.document, [rows[0], rows[-1] + 1])
        return np.arange(first, last, dtype=np.int32)
    is_selected = np.zeros(max(int(chunks.document.max(initial=0)), int(rows.max(initial=0))) + 1, dtype=bool)
    is_selected[rows] = True
    return np.flatnonzero(is_selected[chunks.document]).astype(np.int32)


def join_block_spans(run: Run, blocks: Sequence[ChunkBlock]) -> Spans:
    """Join the chunks of all blocks as spans of the corpus."""
    if len(blocks) == 1:
        return run.read(blocks[0].spans)
    columns = list(_corpus_columns(run, blocks))
    document, start, end = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(document, kind="stable")
    return Spans(document[order], start[order], end[order])


def _corpus_columns(run: Run, blocks: Sequence[ChunkBlock]) -> Iterator[tuple[NDArray[np.int32], ...]]:
    for block in blocks:
        spans = run.read(block.spans)
        yield block.documents.rows(run)[spans.document].astype(np.int32), spans.start, spans.end
