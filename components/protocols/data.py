"""Benchmarks, and the texts that are made of their documents."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import AskedText, Benchmark, Documents, RefinedDocuments


@runtime_checkable
class Dataset(Component, Protocol):
    """A corpus with samples."""

    @property
    def name(self) -> str:
        """Short name for results, e.g. "crud_rag"."""

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the content that `load` reads, wherever it is. Raises DataError naming what is missing."""

    def load(self) -> Benchmark:
        """The benchmark; documents sorted by id, ids of documents and of samples unique. Raises DataError."""


@runtime_checkable
class Source(Component, Protocol):
    """Documents that are read by themselves."""

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the content that `read` reads. Raises DataError."""

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """The documents, and counts for the notes. Raises DataError."""


@runtime_checkable
class DatasetOverSource(Dataset, Protocol):
    """A data set whose documents are read by themselves and kept: editing the questions does not read them again."""

    @property
    def source(self) -> Source | None:
        """Where its documents come from; None if it has none besides its samples."""

    def load_over(self, documents: Documents, counts: Mapping[str, int | str]) -> Benchmark:
        """What `load` gives, from what the source read. Raises DataError."""


@runtime_checkable
class Refinement(Component, Protocol):
    """Makes other texts of those of a corpus before they are cut into chunks: what is searched and read then. Whatever
    is scored is scored by the texts before, from which each character is known to come.
    """

    def refine(self, documents: Documents) -> RefinedDocuments:
        """Each document refined. Raises ComponentError. Several corpora side by side are passed in one by one."""


@runtime_checkable
class AskingRefinement(Component, Protocol):
    """A refinement for which a language model is asked about each document."""

    @property
    def llm(self) -> "LLM":
        """The model that is asked."""

    def refine_by_asking(self, documents: Documents, ask: "Ask") -> tuple[RefinedDocuments, list[AskedText]]:
        """Each document refined, and what came of asking about each that was asked about. A document about which a
        request failed, or whose reply cannot be read (after asking again), stays as it was.
        """


AnyRefinement = Refinement | AskingRefinement
"""A step of a refiner, of one kind or of the other."""


@runtime_checkable
class Refiner(Component, Protocol):
    """Which refinements are made, one after the other, so that cells share the first that they have in common."""

    @property
    def steps(self) -> Sequence[AnyRefinement]:
        """None for texts as they are; a refiner that is a single refinement returns itself."""
