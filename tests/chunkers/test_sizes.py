"""The number of tokens of a chunk that is tokenized by itself: the figures of the documentation."""

import numpy as np
import pytest

from components.chunkers.sentence import SentencePacking
from components.chunkers.token_window import TokenWindow
from components.datasets.demo import Demo
from components.protocols import Chunker
from components.records import SpanTexts
from components.text.corpus_tables import segment
from components.tokenizers.cl100k import Cl100k

MAX_EXCESS_TOKENS = 2


@pytest.mark.parametrize("chunker", [SentencePacking(64, 0.3), TokenWindow(64, 0.3)], ids=lambda c: type(c).__name__)
def test_chunk_has_at_most_two_extra_tokens_when_tokenized_alone(chunker: Chunker) -> None:
    documents = Demo().load().documents
    spans = chunker.chunk(documents, segment(documents.texts, Cl100k()))
    lengths = np.array([len(ends) for ends in Cl100k().token_ends(list(SpanTexts(documents.texts, spans)))])
    assert len(lengths) > 1000
    assert 64 < lengths.max() <= 64 + MAX_EXCESS_TOKENS
    assert np.mean(lengths > 64) < 0.15
