"""A run: waves of documents and drafts, until every matrix field is full or nothing is left to try."""

import logging
import uuid
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from components.errors import BudgetReached, ComponentError
from components.records import Documents
from components.testset.records import Draft, EvidenceSet, Topic
from components.testset.topics.voting import TopicVotes
from runner.engine.cache import Cache
from runner.engine.hidden_answers import HiddenAnswers
from runner.engine.plan import make_plan
from runner.engine.plugins.plugin_loading import identify_files
from runner.engine.spending import SharedLimiter, Spending
from runner.engine.stage import AnyStage, Stage
from runner.engine.store import open_store
from runner.engine.worker import Worker, find_or_make, read_cached
from runner.pipeline.corpus.loaded_data import LoadedSource
from runner.testset.making.draft_outcomes import (
    DraftOutcome,
    EvidenceOutcome,
    GatePass,
    drop_duplicates,
    outcomes,
    pending_reason,
)
from runner.testset.making.generation_settings import GenerationSettings
from runner.testset.making.generation_stages import (
    ChosenTopics,
    Corrections,
    Drafts,
    DrawnEvidence,
    EvidenceSearch,
    GateVerdicts,
    VotesOnTopics,
    is_correction,
)
from runner.testset.making.scheduling import FieldProgress, GenerationRequest, MatrixField, is_full, next_batch
from runner.testset.making.source_corpus import (
    GenerationCorpus,
    IndexedSegments,
    check_language,
    is_removable,
    seeded_order,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

NO_TOPIC = ""
"""Topic of all documents in a run without topics."""


@dataclass
class GenerationState:
    """The state of a run. `stopped` is the reason for an early end, "" if the run was completed."""

    documents: Documents
    counts: dict[str, int | str]
    topics: tuple[Topic, ...]
    requested: GenerationRequest
    votes: list[TopicVotes] = field(default_factory=list)
    tried: list[EvidenceOutcome] = field(default_factory=list)
    progress: FieldProgress = field(default_factory=FieldProgress)
    n_waves: int = 0
    stopped: str = ""

    @property
    def accepted(self) -> list[Draft]:
        """All accepted drafts, in the order of their acceptance."""
        return [tagged.draft for tried in self.tried for tagged in tried.accepted]


class Announce(Protocol):
    """Reports the progress of a run to the user."""

    def stage(self, title: str, done: int, total: int) -> None:
        """Report `done` of `total` replies. Called from long stages."""

    def wave(self, state: GenerationState, tried: Sequence[EvidenceOutcome]) -> None:
        """Report the evidence sets that the last wave tried."""


class GenerationLoop:
    """A run in progress, with its store, its leases and its spending."""

    def __init__(self, settings: GenerationSettings, announce: Announce) -> None:
        """Open the store. Raises StoreError if it cannot be opened."""
        self._settings = settings
        self._announce = announce
        self.store = open_store(settings.run.store_dir, settings.run.cache_dir, uuid.uuid4().hex)
        self._ledger = self.store.root / "tmp" / f"spent-{self.store.run_id}"
        self._leased_keys: set[str] = set()
        self._leases = ExitStack()
        self._evidence: list[DrawnEvidence] = []
        self._limiter = SharedLimiter(self.store.limits, self._ledger, settings.budget, settings.prices)
        self._worker = Worker(self.store, self._limiter)
        self.hidden = HiddenAnswers()
        self.source = LoadedSource(settings.corpus, identify_files(settings.corpus, "fingerprint"))
        corpus, share = GenerationCorpus(self.source), settings.effective_removable_share
        self.search = EvidenceSearch(
            corpus,
            IndexedSegments(settings.chunk, settings.tokenizer, corpus, share, settings.seed if share else 0),
            settings.tokenizer,
        )
        tree = settings.topics.tree
        self.topics = (ChosenTopics(tree, self.search),) if tree else ()

    @property
    def spent(self) -> Spending:
        """Requests, tokens and money that this run has spent."""
        return self._limiter.spent

    def close(self) -> None:
        """End the leases and delete the ledger of this run."""
        self._leases.close()
        self._ledger.unlink(missing_ok=True)

    def begin(self, *, ask: bool = True) -> GenerationState:
        """Read the corpus and its topics. Without `ask`, topics that a model has yet to draft are left out.

        Raises ComponentError if reading or drafting fails, BudgetReached if a limit of the budget stops them, and
        ConfigError if the language of the texts is not the language of the run.
        """
        self._run([self.search.corpus])
        documents: Documents = self._read(self.search.corpus)
        check_language(self._settings.language.name, documents.texts)
        drafted = [stage for stage in self.topics if ask or not stage.source.llm or self._is_cached(stage)]
        self._run([self.search.index, *drafted])
        counts: dict[str, int | str] = read_cached(
            self.source, self.store, lambda entry: dict(entry.part("counts")), self._limiter
        )
        # All waves share one cache of what nearly every stage reads, because decoding a large corpus takes seconds.
        always = [find_or_make(stage, self.store, self._limiter) for stage in (self.search.corpus, self.search.index)]
        self._worker = Worker(self.store, self._limiter, Cache(always=always))
        topics = tuple(leaf for stage in drafted for leaf in self._read(stage).leaves)
        settings = self._settings
        requested = GenerationRequest(
            tuple(settings.tasks),
            tuple(topic.slug for topic in topics) or (NO_TOPIC,),
            settings.per_cell,
            settings.waves.most_tries,
            settings.topics.min_documents,
            frozenset(name for name, task in settings.tasks.items() if task.removes_source),
        )
        return GenerationState(documents, counts, topics, requested)

    def run(self, state: GenerationState) -> None:
        """Add waves until nothing is left to do. If a budget is reached, `state.stopped` says so."""
        try:
            for wave, documents in enumerate(self._blocks(state.documents.ids)):
                state.n_waves = wave + 1
                n_tried = len(state.tried)
                votes = self._find_evidence(state, documents)
                self._try(state, wave)
                tried = state.tried[n_tried:]
                self._announce.wave(state, tried)
                state.stopped = _why_all_failed(votes, tried)
                if state.stopped:
                    return
                if is_full(state.requested, state.progress) or not (documents or tried):
                    return
        except BudgetReached as reached:
            state.stopped = budget_message(reached)

    def _blocks(self, ids: Sequence[str]) -> Iterable[tuple[str, ...]]:
        """Yield the new documents of each wave; () once all documents were used."""
        order = seeded_order(ids, self._settings.seed)[: self._settings.waves.max_documents]
        first = wave = 0
        while True:
            size = self._settings.waves.size(wave)
            yield tuple(order[first : first + size])
            first, wave = first + size, wave + 1

    def _find_evidence(self, state: GenerationState, documents: tuple[str, ...]) -> list[TopicVotes]:
        """Find the topics of documents and the evidence in them, and return the votes."""
        if not documents:
            return []
        share, seed = self._settings.effective_removable_share, self._settings.seed
        evidence = []
        for name, task in self._settings.tasks.items():
            assigned = tuple(i for i in documents if is_removable(i, share, seed) == task.removes_source)
            if assigned:
                evidence.append(DrawnEvidence(name, task, self.search, assigned, self._settings.evidence))
        voting = self._votes(documents)
        self._run([*voting, *evidence])
        votes = [vote for stage in voting for vote in self._read(stage).votes]
        topic_of = self._collect_topics(state, documents, votes)
        for stage in evidence:
            state.progress.add_evidence(self._read(stage).sets, topic_of)
        self._evidence += evidence
        return votes

    def _votes(self, documents: tuple[str, ...]) -> list[VotesOnTopics]:
        voting = self._settings.topics.voting
        return [VotesOnTopics(voting, topics, self.search.corpus, documents) for topics in self.topics if voting]

    def _collect_topics(
        self, state: GenerationState, documents: Sequence[str], votes: Sequence[TopicVotes]
    ) -> dict[str, str]:
        """Return the topic of each document. Documents without a topic are left out."""
        state.votes += votes
        topic_of = {vote.document_id: vote.winner for vote in votes if vote.winner}
        if not self.topics:
            topic_of = dict.fromkeys(documents, NO_TOPIC)
        state.progress.n_documents.update(topic_of.values())
        return topic_of

    def _try(self, state: GenerationState, wave: int) -> None:
        """Write and judge a batch of drafts. Take up the accepted drafts that repeat no earlier one."""
        batch = next_batch(state.requested, state.progress, self._settings.waves.size(wave))
        by_task: dict[str, list[tuple[MatrixField, EvidenceSet]]] = {}
        for cell, evidence in batch:
            by_task.setdefault(cell[1], []).append((cell, evidence))
        drafts = {name: self._drafts(name, sets) for name, sets in by_task.items()}
        first = {name: self._gates(name, stage) for name, stage in drafts.items()}
        self._run([gates[-1] if gates else drafts[name] for name, gates in first.items()])
        gated = {name: [self._read(gate) for gate in gates] for name, gates in first.items()}
        second = {
            name: self._gates(name, Corrections(tuple(first[name])))
            for name, results in gated.items()
            if any(is_correction(judged) for result in results for judged in result.judged)
        }
        self._run([gates[-1] for gates in second.values()])
        by_evidence: dict[str, EvidenceOutcome] = {}
        for name, sets in by_task.items():
            written = self._read(drafts[name])
            again = GatePass([self._read(gate) for gate in second.get(name, [])], ())
            by_evidence |= {
                tried.evidence.id: tried
                for tried in outcomes(sets, wave, written, GatePass(gated[name], written.drafts), again)
            }
        self._take_up(state, [by_evidence[evidence.id] for _, evidence in batch])

    def _take_up(self, state: GenerationState, tried: Sequence[EvidenceOutcome]) -> None:
        """Add the results without drafts that repeat an earlier one."""
        earlier = state.accepted
        new = [tagged.draft for each in tried for tagged in each.accepted]
        repeats = self._settings.near_duplicates.repeats(new, earlier)
        for each in tried:
            remaining = drop_duplicates(each, repeats)
            state.tried.append(remaining)
            state.progress.n_accepted[remaining.cell] += remaining.outcome is DraftOutcome.ACCEPTED

    def _drafts(self, name: str, batch: Sequence[tuple[MatrixField, EvidenceSet]]) -> Drafts:
        sets = tuple((evidence.id, topic) for (topic, _), evidence in batch)
        seeds = {evidence.extracts[0].document_id for _, evidence in batch}
        sources = tuple(
            stage for stage in self._evidence if stage.name == name and not seeds.isdisjoint(stage.document_ids)
        )
        return Drafts(name, self._settings.tasks[name], self.search, self.topics, sources, sets)

    def _gates(self, task: str, drafts: Drafts | Corrections) -> list[GateVerdicts]:
        gates: list[GateVerdicts] = []
        for name, gate in self._settings.gates.items():
            before: Drafts | Corrections | GateVerdicts = gates[-1] if gates else drafts
            gates.append(GateVerdicts(name, task, gate, self.search, self.topics, before))
        return gates

    def _run(self, targets: Sequence[AnyStage]) -> None:
        """Compute stages.

        Raises ComponentError if one of them fails, and BudgetReached if a limit of the budget stops one.
        """
        self._lease({stage.key for target in targets for stage in target.upstream()})
        plan = make_plan([(stage, 1) for stage in targets], self.store)
        for stage in plan.order:
            run = self._worker.run(stage, partial(self._announce.stage, stage.title))
            self.hidden.add(run)
            if run.over_budget:
                raise BudgetReached(run.over_budget)
            if run.failed:
                raise ComponentError(run.error)
        for target in targets:
            self.hidden.add_stored(target, self.store)

    def _lease(self, keys: set[str]) -> None:
        """Protect these results and all replies from pruning until the run is closed, also between waves."""
        if not keys <= self._leased_keys:
            self._leased_keys |= keys
            self._leases.enter_context(self.store.leases.take(self.store.run_id, self._leased_keys))

    def _is_cached(self, stage: AnyStage) -> bool:
        return self.store.find(stage.kind, stage.key) is not None

    def _read(self, stage: Stage[T]) -> T:
        return read_cached(stage, self.store, lambda entry: stage.codec.decode(entry.parts()), self._limiter)


def budget_message(reached: BudgetReached) -> str:
    """Return which budget ended a run. The message has this command's option name instead of the sweep's."""
    return f"stopped before exceeding {str(reached).replace('run.max', 'budget.max')}"


def _why_all_failed(votes: Sequence[TopicVotes], tried: Sequence[EvidenceOutcome]) -> str:
    """Return the reason why a run ends after a wave in which all requests failed, "" otherwise."""
    if tried and all(each.outcome is DraftOutcome.PENDING for each in tried):
        return f"every request of the last wave failed: {pending_reason(tried[0])}"
    if votes and all(vote.is_pending for vote in votes):
        ballots = [*votes[0].votes.values(), *([votes[0].adjudication] if votes[0].adjudication else [])]
        return f"every document waits for votes: {next(vote.reason for vote in ballots if vote.has_failed)}"
    return ""
