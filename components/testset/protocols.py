"""Roles of the components that generate evaluation data."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from components.protocols import LLM, Ask, Component
from components.records import Kind
from components.testset.records import Draft, EvidenceSet, Extract, GateVerdict, Topic, WrittenDrafts


class SourceCorpus(Protocol):
    """The source documents of samples with their topics, as gates and tasks see them."""

    @property
    def texts(self) -> Mapping[str, str]:
        """Texts of the documents by id."""

    @property
    def titles(self) -> Mapping[str, str]:
        """Titles by document id, "" for a document that has no title."""

    @property
    def topics(self) -> Sequence[Topic]:
        """The leaves of the topic tree."""

    def nearest(self, queries: Sequence[str], n: int, *, staying: bool = False) -> list[list[Extract]]:
        """Return for each query the segments that match its words best, by BM25 over segments of the corpus.

        Each result has at most `n` segments, best first, each from a different document. With `staying`, it has only
        documents that no sample removes from the corpus. The result of a query does not depend on the other queries.
        """


@runtime_checkable
class TopicSource(Component, Protocol):
    """A source of topics: a file, or a model that drafts them. A source that reads a file has `content_hash`."""

    @property
    def llm(self) -> LLM | None:
        """The drafting model; None for given topics."""

    @property
    def n_requests(self) -> int:
        """Maximum number of requests in total if every reply can be read."""

    def topics(self, corpus: SourceCorpus, ask: Ask) -> Sequence[Topic]:
        """Return the leaves, with distinct slugs.

        Raises DataError if the file cannot be read, and ComponentError if the model drafted no topic.
        """


@runtime_checkable
class Task(Component, Protocol):
    """A kind of question: the evidence that it needs, and the way it is written."""

    removes_source: ClassVar[bool]
    """True if the first document of an evidence set must leave the released corpus. Other tasks then use other
    documents.
    """

    @property
    def kind(self) -> Kind:
        """Kind of the samples that it drafts."""

    @property
    def n_documents(self) -> int:
        """Extracts of an evidence set, each from a different document. The set is built around the first."""

    @property
    def llm(self) -> LLM | None:
        """The writing model; None for a task that needs no model."""

    @property
    def n_requests(self) -> int:
        """Maximum number of requests for one evidence set if every reply can be read."""

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        """Return drafts of the task `name`. Every evidence set has drafts or is listed in `not_drafted`."""


@runtime_checkable
class DraftGate(Component, Protocol):
    """A check for one kind of flaw in a draft."""

    @property
    def llm(self) -> LLM | None:
        """The checking model; None for a gate that needs no model."""

    @property
    def n_requests(self) -> int:
        """Maximum number of requests for one draft if every reply can be read."""

    @property
    def tags(self) -> bool:
        """True if its findings are remarks (TAGGED), not rejections."""

    def applies_to(self, draft: Draft) -> bool:
        """Return True if the gate checks this draft. Other drafts pass without a request."""

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        """Return one verdict per draft, in order, for drafts to which the gate applies."""
