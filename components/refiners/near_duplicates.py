"""Documents that are nearly the same as an earlier one are left out."""

from dataclasses import dataclass
from typing import ClassVar

from components.records import Documents, RefinedDocuments
from components.refiners.pieces import assembled, copied
from components.text.near_duplicates import repeated_texts


@dataclass(frozen=True)
class WithoutNearDuplicates:
    """Leaves out a document whose runs of 5 characters have a Jaccard similarity of `threshold` or more with those of
    a document before it, by id, that is kept. Of several corpora side by side each loses its own duplicates. What is
    left out may be gold: a metric that credits copies then counts the document that was kept.
    Source: Lee et al. 2022, "Deduplicating Training Data Makes Language Models Better", section 4.2 (NearDup).
    """

    threshold: float = 0.8

    version: ClassVar[int] = 3

    @property
    def steps(self) -> "tuple[WithoutNearDuplicates]":
        """Itself."""
        return (self,)

    def check(self) -> list[str]:
        """A threshold at which the search for candidates would overlook most of them."""
        if 0.5 <= self.threshold <= 1:
            return []
        return [f"threshold: got {self.threshold}, expected a similarity in [0.5, 1]"]

    def refine(self, documents: Documents) -> RefinedDocuments:
        """The documents, with "" for those that are left out."""
        repeated = repeated_texts(documents.texts, self.threshold)
        pieces = [[] if place in repeated else [copied(text)] for place, text in enumerate(documents.texts)]
        return assembled(documents, pieces, {"n_near_duplicates_left_out": len(repeated)})
