"""What a run of making evaluation data is put together from."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from components.protocols import LLM, Ask, Component
from components.records import Kind
from components.testset.records import Draft, EvidenceSet, Extract, GateVerdict, Topic, WrittenDraft


class SourceCorpus(Protocol):
    """The documents that samples are made of and their topics, as gates and tasks see them."""

    @property
    def texts(self) -> Mapping[str, str]:
        """By id."""

    @property
    def titles(self) -> Mapping[str, str]:
        """By id; "" for one without."""

    @property
    def topics(self) -> Sequence[Topic]:
        """The leaves of the topic tree."""

    def nearest(self, queries: Sequence[str], n: int, *, staying: bool = False) -> list[list[Extract]]:
        """For each query the segments that match its words best, at most `n`, each of another document, the best first:
        BM25 over segments of the corpus. With `staying` only of documents that no sample takes out of it. What is found
        for a query does not depend on the others.
        """


@runtime_checkable
class TopicSource(Component, Protocol):
    """Where the topics come from: a file, or a model that drafts them. One that reads a file has `content_hash`."""

    @property
    def llm(self) -> LLM | None:
        """Who drafts; None for topics that are given."""

    @property
    def n_requests(self) -> int:
        """In all, at most, each readable at once."""

    def topics(self, corpus: SourceCorpus, ask: Ask) -> Sequence[Topic]:
        """The leaves, with distinct slugs. Raises DataError, and ComponentError if the model drafted none."""


@runtime_checkable
class Task(Component, Protocol):
    """One kind of question: which evidence it needs, and how it is written."""

    removes_source: ClassVar[bool]
    """True if the first document of an evidence set must leave the released corpus; other tasks then use others."""

    @property
    def kind(self) -> Kind:
        """Of its drafts."""

    @property
    def n_documents(self) -> int:
        """Extracts of an evidence set, each of another document; the first is the one that it is made for."""

    @property
    def llm(self) -> LLM | None:
        """Who writes; None for a task that needs no model."""

    @property
    def n_requests(self) -> int:
        """For one evidence set, at most, each readable at once."""

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDraft:
        """Drafts of the task `name`. Every evidence set has drafts or is among those not drafted."""


@runtime_checkable
class DraftGate(Component, Protocol):
    """One thing that a draft must not have wrong."""

    @property
    def llm(self) -> LLM | None:
        """Who is asked; None for a gate that asks no model."""

    @property
    def n_requests(self) -> int:
        """For one draft, at most, each readable at once."""

    @property
    def tags(self) -> bool:
        """True if what it finds is a remark (TAGGED), not a rejection."""

    def applies_to(self, draft: Draft) -> bool:
        """Whether it has anything to say; a draft to which it does not apply passes, without a request."""

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        """One for each, in order: of drafts to which it applies."""
