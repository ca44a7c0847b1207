"""Chunks of a corpus as our stages make them, but without a store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.records import Spans


def chunk_spans(documents: Sequence[str], size: int) -> "Spans":
    """Return whole sentences packed up to `size` tokens of cl100k."""
    from components.chunkers.sentence import SentencePacking
    from components.records import Documents
    from components.text.corpus_tables import segment
    from components.tokenizers.cl100k import Cl100k

    ids = [f"{number:09d}" for number in range(len(documents))]
    corpus = Documents(ids, [""] * len(ids), documents)
    return SentencePacking(size=size).chunk(corpus, segment(documents, Cl100k()))
