"""Whole documents as chunks, without any cutting."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.chunkers.token_window import drop_redundant_spans
from components.records import Documents, Segments, Spans


@dataclass(frozen=True)
class WholeDocuments:
    """Makes one chunk of each document, for passages that are already cut, such as passages given with a question."""

    version: ClassVar[int] = 1
    length_tokenizer: ClassVar[None] = None

    def chunk(self, documents: Documents, segments: Segments) -> Spans:
        """Return one span per document that is not blank."""
        n_documents = len(documents)
        lengths = np.array([len(text) for text in documents.texts], dtype=np.int32)
        whole = Spans(np.arange(n_documents, dtype=np.int32), np.zeros(n_documents, dtype=np.int32), lengths)
        return drop_redundant_spans(documents, whole)
