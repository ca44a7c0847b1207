"""The stages of a run: topics, votes, evidence, drafts, gates.

No stage depends on the outcomes of other stages of the same wave. The store therefore has the results of a wave even if
other tasks or gates were requested then, and another threshold recomputes only what it changes.
"""

from dataclasses import dataclass, replace

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
    WrittenDrafts,
)
from components.testset.topics.voting import TopicVotes, TopicVoting
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.testset.making.model_free_inputs import refuse_requests
from runner.testset.making.source_corpus import SearchedCorpus, SegmentIndex
from runner.testset.releasing.corrected_turns import drafts_to_rejudge
from runner.testset.releasing.json_records import JsonRecord


@dataclass(frozen=True)
class EvidenceSearch(StageGroup):
    """The documents and the index over them, read together as a corpus that can be searched."""

    corpus: Stage[Documents]
    index: Stage[SegmentIndex]
    tokenizer: WordTokenizer

    def read(self, run: Run, topics: tuple[Topic, ...] = ()) -> SearchedCorpus:
        """Return the searchable corpus with these topics."""
        return SearchedCorpus(run.read(self.corpus), run.read(self.index), self.tokenizer, topics)


@dataclass(frozen=True)
class Topics:
    """The leaves of a topic tree."""

    leaves: tuple[Topic, ...]


class ChosenTopics(Stage[Topics], kind="testset_topics", version=1):
    """The topics of a run: read from a file, or drafted by a model."""

    codec = JsonRecord(Topics)

    source: TopicSource
    search: EvidenceSearch

    def make(self, run: Run) -> Topics:
        """Read the topics from a file, or let a model draft them.

        Raises DataError for an unusable file, and ComponentError if the model drafted no topic.
        """
        return Topics(
            tuple(self.source.topics(self.search.read(run), asking_function(run, self.source.llm, "topic tree")))
        )


def chosen_topics(run: Run, topics: tuple[ChosenTopics, ...]) -> tuple[Topic, ...]:
    """Return the topics of all stages, or () if they have no topics."""
    return tuple(leaf for stage in topics for leaf in run.read(stage).leaves)


@dataclass(frozen=True)
class Votes:
    """Votes on the topics of documents, in their order."""

    votes: tuple[TopicVotes, ...]


class VotesOnTopics(Stage[Votes], kind="testset_votes", display_name="votes on topics", version=1):
    """Assigns topics to documents by votes."""

    codec = JsonRecord(Votes)

    voting: TopicVoting
    topics: ChosenTopics
    corpus: Stage[Documents]
    document_ids: tuple[str, ...]

    def make(self, run: Run) -> Votes:
        """Send requests to the voters, who see the titles too."""
        documents = run.read(self.corpus)
        row_of = {document_id: row for row, document_id in enumerate(documents.ids)}
        rows = [row_of[document_id] for document_id in self.document_ids]
        texts = ["\n".join(filter(None, [documents.titles[row], documents.texts[row]])) for row in rows]
        models = self.voting.models
        votes = self.voting.classify(
            self.document_ids,
            texts,
            run.read(self.topics).leaves,
            lambda name: run.ask(models[name], f"topic vote {name}"),
        )
        return Votes(tuple(votes))


@dataclass(frozen=True)
class EvidenceSets:
    """The evidence sets of one task."""

    sets: tuple[EvidenceSet, ...]


class DrawnEvidence(Stage[EvidenceSets], kind="testset_evidence", version=2):
    """Chooses the evidence in some documents from which a task can be written."""

    codec = JsonRecord(EvidenceSets)

    name: str
    task: Task
    search: EvidenceSearch
    document_ids: tuple[str, ...]
    settings: EvidenceSettings

    def make(self, run: Run) -> EvidenceSets:
        """Choose the evidence, without a request."""
        corpus = self.search.read(run)
        return EvidenceSets(tuple(evidence_sets(self.name, self.task, self.document_ids, corpus, self.settings)))


class Drafts(Stage[WrittenDrafts], kind="testset_drafts", version=1):
    """Writes drafts from some evidence sets. `sets` are their ids, each with its topic."""

    codec = JsonRecord(WrittenDrafts)

    name: str
    task: Task
    search: EvidenceSearch
    topics: tuple[ChosenTopics, ...]
    evidence: tuple[DrawnEvidence, ...]
    sets: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """The stage and its task, for progress lines."""
        return f"drafts of {self.name}"

    def make(self, run: Run) -> WrittenDrafts:
        """Send requests to the writer. Raises ComponentError for an evidence set without a draft and without a reason
        for having none.
        """
        by_id = {evidence_set.id: evidence_set for stage in self.evidence for evidence_set in run.read(stage).sets}
        evidence = [replace(by_id[own_id], topic=topic) for own_id, topic in self.sets]
        ask = asking_function(run, self.task.llm, f"drafts {self.name}")
        corpus = self.search.read(run, chosen_topics(run, self.topics))
        written = self.task.write(self.name, evidence, corpus, ask)
        ended = {draft.evidence.id for draft in written.drafts} | {
            refused.evidence.id for refused in written.not_drafted
        }
        if lost := [evidence_set.id for evidence_set in evidence if evidence_set.id not in ended]:
            raise ComponentError(
                f"{type(self.task).__name__}: returned nothing for {len(lost)} of {len(evidence)} evidence sets, "
                f"e.g. {lost[0]}, expected drafts, or the reason for having none"
            )
        return written


@dataclass(frozen=True)
class DraftJudgement:
    """A draft as it reached a gate, and the verdict of the gate."""

    draft: Draft
    gate: str
    verdict: GateVerdict


@dataclass(frozen=True)
class GateResult:
    """The drafts that passed a gate, and all verdicts other than plain passes."""

    survivors: tuple[Draft, ...]
    judged: tuple[DraftJudgement, ...]


class Corrections(Stage[WrittenDrafts], kind="testset_corrections", version=2):
    """Collects the corrected drafts of all gates, and the later turns of their conversations."""

    codec = JsonRecord(WrittenDrafts)

    gates: tuple["GateVerdicts", ...]

    def make(self, run: Run) -> WrittenDrafts:
        """Collect the drafts, without a request."""
        gated = [run.read(gate) for gate in self.gates]
        judged = [judgement for gate in gated for judgement in gate.judged]
        corrected = [
            judgement.verdict.draft for judgement in judged if is_correction(judgement) and judgement.verdict.draft
        ]
        return WrittenDrafts(tuple(drafts_to_rejudge(corrected, gated[-1].survivors)))


class GateVerdicts(Stage[GateResult], kind="testset_gate", version=2):
    """The verdicts of one gate on the drafts of one task that passed the earlier gates."""

    codec = JsonRecord(GateResult)

    name: str
    task_name: str
    gate: DraftGate
    search: EvidenceSearch
    topics: tuple[ChosenTopics, ...]
    drafts: "Stage[WrittenDrafts] | GateVerdicts"

    @property
    def title(self) -> str:
        """The gate and its task, for progress lines."""
        return f"{self.name}, {self.task_name}"

    def make(self, run: Run) -> GateResult:
        """Judge the drafts to which the gate applies. The others pass."""
        drafts = _select_drafts(run.read(self.drafts))
        applied = [draft for draft in drafts if self.gate.applies_to(draft)]
        ask = asking_function(run, self.gate.llm, f"gate {self.name}")
        returned = (
            self.gate.verdicts(applied, self.search.read(run, chosen_topics(run, self.topics)), ask) if applied else []
        )
        if len(returned) != len(applied):
            raise ComponentError(
                f"{type(self.gate).__name__}: got {len(returned)} verdicts for {len(applied)} drafts, expected one for "
                "each"
            )
        verdicts = {draft.id: verdict for draft, verdict in zip(applied, returned, strict=True)}
        judged = [DraftJudgement(draft, self.name, verdicts.get(draft.id, PASSED)) for draft in drafts]
        return GateResult(
            tuple(
                judgement.verdict.draft or judgement.draft
                for judgement in judged
                if judgement.verdict.state in _COMES_THROUGH
            ),
            tuple(judgement for judgement in judged if judgement.verdict.state is not VerdictState.PASSED),
        )


_COMES_THROUGH = (VerdictState.PASSED, VerdictState.TAGGED)


def is_correction(judged: DraftJudgement) -> bool:
    """Return True if a corrected draft replaces this one and goes through the gates."""
    return judged.verdict.state is VerdictState.CORRECTED


def _select_drafts(result: object) -> tuple[Draft, ...]:
    if isinstance(result, GateResult):
        return result.survivors
    assert isinstance(result, WrittenDrafts)
    return result.drafts


def asking_function(run: Run, llm: LLM | None, purpose: str) -> Ask:
    """Return the function that sends a component's requests to its model. Without a model, it raises an error."""
    return run.ask(llm, f"testset {purpose}") if llm else refuse_requests
