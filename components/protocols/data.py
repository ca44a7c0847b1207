"""Benchmarks, and refinements of their documents."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import AskedText, Benchmark, Documents, RefinedDocuments


@runtime_checkable
class Dataset(Component, Protocol):
    """A component that loads a corpus with samples."""

    @property
    def name(self) -> str:
        """Short name for results, e.g. "crud_rag"."""

    def fingerprint(self) -> str:
        """Return the SHA-256 (hex) of the content that `load` reads; it does not depend on the location.

        Raises DataError that names the missing files.
        """

    def load(self) -> Benchmark:
        """Return the benchmark, with documents sorted by id, and unique document and sample ids.

        Raises DataError for files that are missing or have errors.
        """


@runtime_checkable
class Source(Component, Protocol):
    """A component that reads documents without samples."""

    def fingerprint(self) -> str:
        """Return the SHA-256 (hex) of the content that `read` reads. Raises DataError for missing files."""

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """Return the documents, and counts for the notes of the benchmark.

        Raises DataError for files that are missing or have errors.
        """


@runtime_checkable
class DatasetOverSource(Dataset, Protocol):
    """A data set whose documents are loaded and cached separately: editing its questions does not reload them."""

    @property
    def source(self) -> Source | None:
        """The source of its documents; None if all of them come with the samples."""

    def load_over(self, documents: Documents, counts: Mapping[str, int | str]) -> Benchmark:
        """Return the benchmark that `load` returns, built from the result of `source.read()`.

        Raises DataError for errors in the questions.
        """


def separate_source(dataset: Dataset) -> Source | None:
    """Return the source of a data set whose documents are loaded separately, None if its `load` reads them.

    A class that defines `load` and inherits `load_over` changed what is loaded, so its `load` is used.
    """
    if not isinstance(dataset, DatasetOverSource):
        return None
    defined = ({"load", "load_over"} & vars(cls).keys() for cls in type(dataset).__mro__)
    first = next(filter(None, defined), {"load_over"})  # a class may delegate all by __getattr__
    return dataset.source if "load_over" in first else None


@runtime_checkable
class Refinement(Component, Protocol):
    """A component that rewrites documents before they are split into chunks.

    Search and prompt use the refined text. Metrics use the original text: each refined character is mapped to its
    origin.
    """

    def refine(self, documents: Documents) -> RefinedDocuments:
        """Return each document refined. Each corpus of a benchmark gets a separate call.

        Raises ComponentError if the refinement fails.
        """


@runtime_checkable
class AskingRefinement(Component, Protocol):
    """A refinement of documents that sends requests to a language model."""

    @property
    def llm(self) -> "LLM":
        """The language model of its requests."""

    def refine_by_asking(self, documents: Documents, ask: "Ask") -> tuple[RefinedDocuments, list[AskedText]]:
        """Return each document refined, and the outcomes for the documents with requests.

        A document stays unchanged if its request failed, or if its reply cannot be parsed after a retry.
        """


AnyRefinement = Refinement | AskingRefinement
"""A step of a refiner, with or without a language model."""


@runtime_checkable
class Refiner(Component, Protocol):
    """A component that lists refinements, applied in order. Cells share the refinements that they have in common at the
    start of the list.
    """

    @property
    def steps(self) -> Sequence[AnyRefinement]:
        """The refinements; empty for unchanged documents. A refiner that is a single refinement returns itself."""
