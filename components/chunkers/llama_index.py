"""llama-index's SentenceSplitter, for parity with pipelines that use it, such as CRUD-RAG's published code."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from components.chunkers.budget import Unit, overlap_tokens, size_problems
from components.chunkers.token_window import drop_redundant_spans
from components.errors import ComponentError, MissingExtraError
from components.protocols import Tokenizer
from components.records import Documents, Segments, Spans
from components.tokenizers.cl100k import Cl100k

_MISSING = MissingExtraError("llama-index-core", "llama-index", "chunk=llama_index")


@dataclass(frozen=True)
class LlamaIndexSentences:
    """`llama_index.core.node_parser.SentenceSplitter` with our tokenizer. Its chunks are mapped back to spans.

    Its overlap consists of whole sentences of at most `size * overlap` tokens in total, so small overlaps often repeat
    nothing. It splits only at the sentence marks of its default settings.
    """

    size: int = 128
    overlap: float = 0.0
    unit: Unit = Unit.TOKEN
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return one message per error in size and overlap, and a message if the package is missing."""
        problems = size_problems(self.size, self.overlap, self.unit, self.tokenizer)
        return problems if importlib.util.find_spec("llama_index") else [*problems, str(_MISSING)]

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """Always None: it counts tokens itself."""
        return None

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Return spans sorted by (document, start).

        Raises ComponentError if the chunks of a document do not match its text, MissingExtraError without llama-index.
        """
        try:
            from llama_index.core.node_parser import SentenceSplitter
        except ImportError as error:
            raise _MISSING from error
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
        return drop_redundant_spans(documents, Spans(columns[:, 0], columns[:, 1], columns[:, 2]))


def _locate(text: str, chunks: list[str], document_id: str) -> list[tuple[int, int]]:
    """Return [start, end) of each chunk. Together the chunks cover all of the text except whitespace between them.

    The splitter returns texts without offsets, and the same words may occur in several places. Therefore we follow all
    chains of places in which each chunk begins within or right after the previous one, and take a chain that reaches
    the end of the text. Raises ComponentError if no chain does.
    """
    if not chunks:
        return []
    # For each chunk: every possible start -> a start of the previous chunk that leads to it.
    places: list[dict[int, int]] = [{_skip_blank(text, 0): -1}]
    for before, chunk in pairwise(chunks):
        reached: dict[int, int] = {}
        for start in places[-1]:
            end = start + len(before)
            first = max(start, end - len(chunk))
            for position in _occurrences(text, chunk, first, _skip_blank(text, end)):
                reached.setdefault(position, start)
        places.append(reached)
    start = len(text.rstrip()) - len(chunks[-1])
    if start not in places[-1]:
        raise ComponentError(
            f"chunk=llama_index: the chunks of document {document_id!r}, which begins {text[:40]!r}, do not match its "
            "text. Use chunk=sentence for this corpus."
        )
    spans = []
    for chunk, reached in zip(reversed(chunks), reversed(places), strict=True):
        spans.append((start, start + len(chunk)))
        start = reached[start]
    return spans[::-1]


def _skip_blank(text: str, start: int) -> int:
    """Return the first position from `start` on that is not whitespace."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _occurrences(text: str, chunk: str, first: int, last: int) -> Iterator[int]:
    """Yield the positions in [first, last] at which the chunk occurs."""
    position = text.find(chunk, first, last + len(chunk))
    while position >= 0:
        yield position
        position = text.find(chunk, position + 1, last + len(chunk))
