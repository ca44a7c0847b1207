"""Removal of documents that nearly equal an earlier one."""

from dataclasses import dataclass
from typing import ClassVar

from components.records import Documents, RefinedDocuments
from components.refiners.pieces import assemble_documents, copy_piece
from components.text.similar_documents import repeated_texts


@dataclass(frozen=True)
class WithoutNearDuplicates:
    """Removal of every document that is nearly equal to an earlier document, by id, that stays.

    Two documents are nearly equal if their sets of runs of 5 characters have a Jaccard similarity of at least
    `threshold`. Corpora side by side are compared only within themselves. Gold may be among the removed documents. A
    metric that credits copies then counts the document that stays.
    Source: Lee et al. 2022, "Deduplicating Training Data Makes Language Models Better", section 4.2 (NearDup).
    """

    threshold: float = 0.8

    version: ClassVar[int] = 3

    @property
    def steps(self) -> "tuple[WithoutNearDuplicates]":
        """The refiner itself, its only step."""
        return (self,)

    def check(self) -> list[str]:
        """Return an error message for a threshold at which the search for candidates would miss most duplicates, or
        above 1.
        """
        if 0.5 <= self.threshold <= 1:
            return []
        return [f"threshold: got {self.threshold}, expected a similarity in [0.5, 1]"]

    def refine(self, documents: Documents) -> RefinedDocuments:
        """Return the documents, with "" for removed texts."""
        repeated = repeated_texts(documents.texts, self.threshold)
        pieces = [[] if row in repeated else [copy_piece(text)] for row, text in enumerate(documents.texts)]
        return assemble_documents(documents, pieces, {"n_near_duplicates_left_out": len(repeated)})
