"""The stages of a run: topics, votes, evidence, drafts, gates.

None of them knows what came of others beside it: a wave's stages are found again whatever else was asked for, and what
a threshold changed is made again alone.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from components.errors import ComponentError
from components.protocols import LLM, Ask, WordTokenizer
from components.records import Documents
from components.testset.evidence import EvidenceSettings, evidence_sets
from components.testset.protocols import DraftGate, Task, TopicSource
from components.testset.records import (
    PASSED,
    Draft,
    EvidenceSet,
    GateVerdict,
    Topic,
    VerdictState,
    WrittenDraft,
)
from components.testset.topics.voting import TopicVotes, TopicVoting
from runner.engine.codecs import Codec
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.testset.making.no_model import ask_nobody
from runner.testset.making.source_corpus import SearchedCorpus, SegmentIndex
from runner.testset.releasing.corrected_turns import to_judge_again
from runner.testset.releasing.json_records import JsonRecord


@dataclass(frozen=True)
class EvidenceSearch(StageGroup):
    """The documents with the search among them."""

    corpus: Stage[Documents]
    index: Stage[SegmentIndex]
    tokenizer: WordTokenizer

    def read(self, run: Run, topics: tuple[Topic, ...] = ()) -> SearchedCorpus:
        """Both."""
        return SearchedCorpus(run.read(self.corpus), run.read(self.index), self.tokenizer, topics)


@dataclass(frozen=True)
class Topics:
    """The leaves of a topic tree."""

    leaves: tuple[Topic, ...]


@dataclass(frozen=True, eq=False)
class ChosenTopics(Stage[Topics]):
    """The topics that there are: read, or drafted by a model."""

    kind: ClassVar[str] = "testset_topics"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Topics]] = JsonRecord(Topics)

    source: TopicSource
    search: EvidenceSearch

    def make(self, run: Run) -> Topics:
        """Reads or asks. Raises DataError, ComponentError."""
        return Topics(tuple(self.source.topics(self.search.read(run), asking(run, self.source.llm, "topic tree"))))


def leaves_of(run: Run, topics: tuple[ChosenTopics, ...]) -> tuple[Topic, ...]:
    """None where there are no topics."""
    return tuple(leaf for stage in topics for leaf in run.read(stage).leaves)


@dataclass(frozen=True)
class Votes:
    """On documents, in order."""

    votes: tuple[TopicVotes, ...]


@dataclass(frozen=True, eq=False)
class VotesOnTopics(Stage[Votes]):
    """To which topics some documents belong."""

    kind: ClassVar[str] = "testset_votes"
    in_words: ClassVar[str] = "votes on topics"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[Votes]] = JsonRecord(Votes)

    voting: TopicVoting
    topics: ChosenTopics
    corpus: Stage[Documents]
    document_ids: tuple[str, ...]

    def make(self, run: Run) -> Votes:
        """Asks the voters, who see the titles too."""
        documents = run.read(self.corpus)
        row_of = {document_id: row for row, document_id in enumerate(documents.ids)}
        rows = [row_of[document_id] for document_id in self.document_ids]
        own = ["\n".join(filter(None, [documents.titles[row], documents.texts[row]])) for row in rows]
        models = self.voting.models
        votes = self.voting.classify(
            self.document_ids,
            own,
            run.read(self.topics).leaves,
            lambda name: run.ask(models[name], f"topic vote {name}"),
        )
        return Votes(tuple(votes))


@dataclass(frozen=True)
class EvidenceSets:
    """Of one task."""

    sets: tuple[EvidenceSet, ...]


@dataclass(frozen=True, eq=False)
class DrawnEvidence(Stage[EvidenceSets]):
    """What a task could be written of, for some documents."""

    kind: ClassVar[str] = "testset_evidence"
    version: ClassVar[int] = 2
    codec: ClassVar[Codec[EvidenceSets]] = JsonRecord(EvidenceSets)

    name: str
    task: Task
    search: EvidenceSearch
    document_ids: tuple[str, ...]
    settings: EvidenceSettings

    def make(self, run: Run) -> EvidenceSets:
        """Chooses it; no model is asked."""
        corpus = self.search.read(run)
        return EvidenceSets(tuple(evidence_sets(self.name, self.task, self.document_ids, corpus, self.settings)))


@dataclass(frozen=True, eq=False)
class Drafts(Stage[WrittenDraft]):
    """What is written of some evidence sets: `sets` are their ids, each with its topic."""

    kind: ClassVar[str] = "testset_drafts"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[WrittenDraft]] = JsonRecord(WrittenDraft)

    name: str
    task: Task
    search: EvidenceSearch
    topics: tuple[ChosenTopics, ...]
    evidence: tuple[DrawnEvidence, ...]
    sets: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """With the task."""
        return f"drafts of {self.name}"

    def make(self, run: Run) -> WrittenDraft:
        """Asks the writer. Raises ComponentError if evidence ends as neither drafted nor not."""
        found = {own.id: own for stage in self.evidence for own in run.read(stage).sets}
        evidence = [replace(found[own_id], topic=topic) for own_id, topic in self.sets]
        ask = asking(run, self.task.llm, f"drafts {self.name}")
        corpus = self.search.read(run, leaves_of(run, self.topics))
        written = self.task.write(self.name, evidence, corpus, ask)
        ended = {draft.evidence.id for draft in written.drafts} | {own.evidence.id for own in written.not_drafted}
        if lost := [own.id for own in evidence if own.id not in ended]:
            raise ComponentError(
                f"{type(self.task).__name__}: nothing came of {len(lost)} of {len(evidence)} evidence sets, e.g. "
                f"{lost[0]}; expected drafts, or a word why there are none"
            )
        return written


@dataclass(frozen=True)
class Judged:
    """A draft as it came to a gate, and what that said."""

    draft: Draft
    gate: str
    verdict: GateVerdict


@dataclass(frozen=True)
class Gated:
    """What came through a gate, and what it said of drafts that it did not just let pass."""

    survivors: tuple[Draft, ...]
    judged: tuple[Judged, ...]


@dataclass(frozen=True, eq=False)
class Corrections(Stage[WrittenDraft]):
    """The drafts that gates put in the places of others, and the turns of conversations after them."""

    kind: ClassVar[str] = "testset_corrections"
    version: ClassVar[int] = 2
    codec: ClassVar[Codec[WrittenDraft]] = JsonRecord(WrittenDraft)

    gates: tuple["GateVerdicts", ...]

    def make(self, run: Run) -> WrittenDraft:
        """Collects them."""
        gated = [run.read(gate) for gate in self.gates]
        judged = [own for gate in gated for own in gate.judged]
        corrected = [own.verdict.draft for own in judged if is_correction(own) and own.verdict.draft]
        return WrittenDraft(tuple(to_judge_again(corrected, gated[-1].survivors)))


@dataclass(frozen=True, eq=False)
class GateVerdicts(Stage[Gated]):
    """What one gate says of the drafts of one task that came through the gates before."""

    kind: ClassVar[str] = "testset_gate"
    version: ClassVar[int] = 2
    codec: ClassVar[Codec[Gated]] = JsonRecord(Gated)

    name: str
    task_name: str
    gate: DraftGate
    search: EvidenceSearch
    topics: tuple[ChosenTopics, ...]
    drafts: "Stage[WrittenDraft] | GateVerdicts"

    @property
    def title(self) -> str:
        """With the task."""
        return f"{self.name}, {self.task_name}"

    def make(self, run: Run) -> Gated:
        """Judges those to which the gate applies."""
        drafts = _drafts_of(run.read(self.drafts))
        applied = [draft for draft in drafts if self.gate.applies_to(draft)]
        ask = asking(run, self.gate.llm, f"gate {self.name}")
        given = self.gate.verdicts(applied, self.search.read(run, leaves_of(run, self.topics)), ask) if applied else []
        if len(given) != len(applied):
            raise ComponentError(
                f"{type(self.gate).__name__}: {len(given)} verdicts came for {len(applied)} drafts, expected one "
                "for each"
            )
        verdicts = {draft.id: verdict for draft, verdict in zip(applied, given, strict=True)}
        judged = [Judged(draft, self.name, verdicts.get(draft.id, PASSED)) for draft in drafts]
        return Gated(
            tuple(own.verdict.draft or own.draft for own in judged if own.verdict.state in _COMES_THROUGH),
            tuple(own for own in judged if own.verdict.state is not VerdictState.PASSED),
        )


_COMES_THROUGH = (VerdictState.PASSED, VerdictState.TAGGED)


def is_correction(judged: Judged) -> bool:
    """True if another draft goes through the gates in its place."""
    return judged.verdict.state is VerdictState.CORRECTED


def _drafts_of(result: object) -> tuple[Draft, ...]:
    if isinstance(result, Gated):
        return result.survivors
    assert isinstance(result, WrittenDraft)
    return result.drafts


def asking(run: Run, llm: LLM | None, purpose: str) -> Ask:
    """How a component asks its model; one without a model must ask nothing."""
    return run.ask(llm, f"testset {purpose}") if llm else ask_nobody
