"""llama-index's SentenceSplitter, for parity with pipelines that use it (CRUD-RAG's published code among them)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.chunkers.budget import Unit, overlap_tokens, size_mistakes
from components.chunkers.token_window import without_blank
from components.errors import ComponentError, MissingExtraError
from components.protocols import Tokenizer
from components.records import Documents, Segments, Spans
from components.text.cl100k import Cl100k


@dataclass(frozen=True)
class LlamaIndexSentences:
    """`llama_index.core.node_parser.SentenceSplitter` with our tokenizer; its chunks are mapped back to spans.

    Its overlap is of whole sentences at most `size * overlap` tokens long, so small overlaps often repeat nothing, and
    it knows the sentence marks of its own default settings only.
    """

    size: int = 128
    overlap: float = 0.0
    unit: Unit = Unit.TOKEN
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Mistakes of size and overlap."""
        return size_mistakes(self.size, self.overlap, self.unit, self.tokenizer)

    @property
    def ruler(self) -> Tokenizer | None:
        """None: it counts tokens itself."""
        return None

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Spans sorted by (document, start). Raises ComponentError if a chunk is not part of its document."""
        try:
            from llama_index.core.node_parser import SentenceSplitter
        except ImportError as error:
            raise MissingExtraError("llama-index-core", "dev", "chunk=llama_index") from error
        splitter = SentenceSplitter(
            chunk_size=self.size,
            chunk_overlap=overlap_tokens(self.size, self.overlap),
            tokenizer=list if self.unit is Unit.CHAR else lambda text: self.tokenizer.token_ends([text])[0].tolist(),
        )
        rows = [
            (i, *span)
            for i, text in enumerate(documents.texts)
            for span in _locate(text, splitter.split_text(text), documents.ids[i])
        ]
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3)
        return without_blank(documents, Spans(columns[:, 0], columns[:, 1], columns[:, 2]))


def _locate(text: str, chunks: list[str], document_id: str) -> list[tuple[int, int]]:
    """Where each chunk stands. The splitter strips chunks, so each is looked for from the start of the one before it."""
    spans: list[tuple[int, int]] = []
    search_from = 0
    for chunk in chunks:
        start = text.find(chunk, search_from)
        if start < 0:
            raise ComponentError(
                f"chunk=llama_index: a chunk of document {document_id!r} is not part of its text: {chunk[:40]!r}. "
                "Use chunk=sentence for this corpus."
            )
        spans.append((start, start + len(chunk)))
        search_from = start + 1
    return spans
