"""llama-index's SentenceSplitter, for parity with pipelines that use it (CRUD-RAG's published code among them)."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from components.chunkers.budget import Unit, overlap_tokens, size_mistakes
from components.chunkers.token_window import tidy
from components.errors import ComponentError, MissingExtraError
from components.protocols import Tokenizer
from components.records import Documents, Segments, Spans
from components.tokenizers.cl100k import Cl100k

_MISSING = MissingExtraError("llama-index-core", "llama-index", "chunk=llama_index")


@dataclass(frozen=True)
class LlamaIndexSentences:
    """`llama_index.core.node_parser.SentenceSplitter` with our tokenizer; its chunks are mapped back to spans.

    Its overlap consists of whole sentences, at most `size * overlap` tokens long, so small overlaps often repeat
    nothing; and it knows only the sentence marks of its own default settings.
    """

    size: int = 128
    overlap: float = 0.0
    unit: Unit = Unit.TOKEN
    tokenizer: Tokenizer = Cl100k()

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """What is wrong with size and overlap, and whether the package is missing."""
        mistakes = size_mistakes(self.size, self.overlap, self.unit, self.tokenizer)
        return mistakes if importlib.util.find_spec("llama_index") else [*mistakes, str(_MISSING)]

    @property
    def length_tokenizer(self) -> Tokenizer | None:
        """None: it counts tokens itself."""
        return None

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Spans sorted by (document, start). Raises ComponentError if a document's chunks are not its text."""
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
        return tidy(documents, Spans(columns[:, 0], columns[:, 1], columns[:, 2]))


def _locate(text: str, chunks: list[str], document_id: str) -> list[tuple[int, int]]:
    """Where each chunk is in the text, such that together they cover all of it but white space between them.

    The splitter returns texts without offsets, and the same words may occur in several places. So all places are
    followed that continue from where the previous chunk began or ended, until one chain of them reaches the end of the
    text.
    """
    if not chunks:
        return []
    # Per chunk: every place where it may start -> a start of the previous chunk from which it is reached.
    places: list[dict[int, int]] = [{_skip_blank(text, 0): -1}]
    for before, chunk in pairwise(chunks):
        reached: dict[int, int] = {}
        for start in places[-1]:
            end = start + len(before)
            first = max(start, end - len(chunk))
            for place in _occurrences(text, chunk, first, _skip_blank(text, end)):
                reached.setdefault(place, start)
        places.append(reached)
    start = len(text.rstrip()) - len(chunks[-1])
    if start not in places[-1]:
        raise ComponentError(
            f"chunk=llama_index: the chunks of document {document_id!r}, which begins {text[:40]!r}, are not its text. "
            "Use chunk=sentence for this corpus."
        )
    spans = []
    for chunk, reached in zip(reversed(chunks), reversed(places), strict=True):
        spans.append((start, start + len(chunk)))
        start = reached[start]
    return spans[::-1]


def _skip_blank(text: str, start: int) -> int:
    """The first position from `start` on that is not white space."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _occurrences(text: str, chunk: str, first: int, last: int) -> Iterator[int]:
    """Positions in [first, last] at which the chunk occurs."""
    place = text.find(chunk, first, last + len(chunk))
    while place >= 0:
        yield place
        place = text.find(chunk, place + 1, last + len(chunk))
