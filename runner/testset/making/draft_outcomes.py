"""Outcomes of the evidence sets that were tried: samples, or the reason for having none."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from components.testset.gates.inspection import NEEDS_SECOND_CORRECTION
from components.testset.records import (
    Draft,
    EvidenceSet,
    GateVerdict,
    NoDraftReason,
    UndraftedEvidence,
    VerdictState,
    WrittenDrafts,
)
from runner.testset.making.generation_stages import DraftJudgement, GateResult, is_correction
from runner.testset.making.scheduling import MatrixField

DRAFTING = "draft"
"""Name of the writing step in records that name gates."""

NEAR_DUPLICATE = "near_duplicate"
EARLIER_TURN = "earlier_turn_rejected"


class DraftOutcome(StrEnum):
    """Outcome of an evidence set. PENDING: a request failed, and a later run asks again."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    PENDING = "pending"


@dataclass(frozen=True)
class AcceptedDraft:
    """A draft that passed every gate, with their remarks."""

    draft: Draft
    tags: tuple[DraftJudgement, ...]


@dataclass(frozen=True)
class EvidenceOutcome:
    """An evidence set that was tried in wave `wave`. `reason` explains why nothing was accepted, "" otherwise.

    The turns of a conversation are accepted up to the first rejected one. If this turn only FAILED, no turn is accepted
    yet.
    """

    cell: MatrixField
    evidence: EvidenceSet
    wave: int
    outcome: DraftOutcome
    reason: str = ""
    accepted: tuple[AcceptedDraft, ...] = ()
    rejected: tuple[DraftJudgement, ...] = ()
    not_drafted: UndraftedEvidence | None = None


@dataclass(frozen=True)
class GatePass:
    """One run of drafts through all gates. Corrected drafts, and the turns after them, take a second one."""

    gates: Sequence[GateResult]
    drafts: Sequence[Draft]

    def survivors(self) -> dict[str, Draft]:
        """Return the drafts that passed all gates, as the last gate left them, by id."""
        return {draft.id: draft for draft in (self.gates[-1].survivors if self.gates else self.drafts)}

    def list_judged(self) -> dict[str, list[DraftJudgement]]:
        """Return the verdicts on each draft by its id, in the order of the gates."""
        by_draft: dict[str, list[DraftJudgement]] = defaultdict(list)
        for gate in self.gates:
            for judged in gate.judged:
                by_draft[judged.draft.id].append(judged)
        return by_draft


def outcomes(
    batch: Sequence[tuple[MatrixField, EvidenceSet]],
    wave: int,
    written: WrittenDrafts,
    first: GatePass,
    second: GatePass,
) -> list[EvidenceOutcome]:
    """Return the outcomes of the evidence sets of one task, in their order. `second` is the pass of the corrected
    drafts.
    """
    results = _final_results(written.drafts, first, second)
    drafts: dict[str, list[Draft]] = defaultdict(list)
    for draft in written.drafts:
        drafts[draft.evidence.id].append(draft)
    refused = {undrafted.evidence.id: undrafted for undrafted in written.not_drafted}
    return [
        _drafts_outcome(cell, evidence, wave, [results[draft.id] for draft in _sort_by_turn(drafts[evidence.id])])
        if drafts[evidence.id]
        else _refusal_outcome(cell, evidence, wave, refused[evidence.id])
        for cell, evidence in batch
    ]


def _sort_by_turn(drafts: Iterable[Draft]) -> list[Draft]:
    return sorted(drafts, key=lambda draft: draft.turn)


_FinalResult = AcceptedDraft | DraftJudgement
"""A draft that passed all gates, or the verdict of the gate that stopped it."""


def _final_results(drafts: Sequence[Draft], first: GatePass, second: GatePass) -> dict[str, _FinalResult]:
    """Return the result of each draft by its original id."""
    survivors, judged = (first.survivors(), second.survivors()), (first.list_judged(), second.list_judged())
    results: dict[str, _FinalResult] = {}
    for draft in drafts:
        own_id, n_pass = draft.id, 0
        last = judged[0].get(own_id, [None])[-1]
        if last and is_correction(last) and last.verdict.draft:
            own_id, n_pass = last.verdict.draft.id, 1
        elif own_id in survivors[0] and second.gates and (own_id in survivors[1] or own_id in judged[1]):
            n_pass = 1  # the draft is a turn after a corrected one
        tags = judged[n_pass].get(own_id, [])
        survivor = survivors[n_pass].get(own_id)
        results[draft.id] = AcceptedDraft(survivor, tuple(tags)) if survivor else _rejection(tags[-1])
    return results


def _rejection(judged: DraftJudgement) -> DraftJudgement:
    """Return the verdict that stopped a draft. There is no third pass: a second correction, also one after another
    corrected turn, is a rejection.
    """
    if not is_correction(judged):
        return judged
    return replace(judged, verdict=GateVerdict(VerdictState.REJECTED, NEEDS_SECOND_CORRECTION, judged.verdict.detail))


def _refusal_outcome(
    cell: MatrixField, evidence: EvidenceSet, wave: int, refused: UndraftedEvidence
) -> EvidenceOutcome:
    pending = refused.cause is NoDraftReason.FAILED
    outcome = DraftOutcome.PENDING if pending else DraftOutcome.REJECTED
    return EvidenceOutcome(cell, evidence, wave, outcome, "" if pending else refused.cause.value, not_drafted=refused)


def _drafts_outcome(
    cell: MatrixField, evidence: EvidenceSet, wave: int, results: Sequence[_FinalResult]
) -> EvidenceOutcome:
    accepted: list[AcceptedDraft] = []
    rejected: list[DraftJudgement] = []
    for result in results:
        if isinstance(result, DraftJudgement):
            rejected.append(result)
        elif rejected:  # the draft's history contains a rejected turn
            rejected.append(DraftJudgement(result.draft, DRAFTING, GateVerdict(VerdictState.REJECTED, EARLIER_TURN)))
        else:
            accepted.append(result)
    if rejected and (first := rejected[0]).verdict.state is VerdictState.FAILED:
        # The length of the conversation is not known yet, so its other turns wait with this one.
        waiting = [
            turn if isinstance(turn, DraftJudgement) else DraftJudgement(turn.draft, first.gate, first.verdict)
            for turn in results
        ]
        return _outcome(cell, evidence, wave, (), waiting)
    return _outcome(cell, evidence, wave, accepted, rejected)


def _outcome(
    cell: MatrixField,
    evidence: EvidenceSet,
    wave: int,
    accepted: Sequence[AcceptedDraft],
    rejected: Sequence[DraftJudgement],
) -> EvidenceOutcome:
    if accepted:
        outcome, reason = DraftOutcome.ACCEPTED, ""
    elif rejected[0].verdict.state is VerdictState.FAILED:
        outcome, reason = DraftOutcome.PENDING, ""
    else:
        outcome, reason = DraftOutcome.REJECTED, rejected[0].verdict.reason
    return EvidenceOutcome(cell, evidence, wave, outcome, reason, tuple(accepted), tuple(rejected))


def pending_reason(tried: EvidenceOutcome) -> str:
    """Return the error of the failed request."""
    return tried.not_drafted.detail if tried.not_drafted else tried.rejected[0].verdict.detail


def drop_duplicates(tried: EvidenceOutcome, repeats: Mapping[str, str]) -> EvidenceOutcome:
    """Return the result without drafts that repeat others, and without later turns. `repeats` maps the id of a draft to
    the id that it repeats.
    """
    accepted: list[AcceptedDraft] = []
    rejected = list(tried.rejected)
    for tagged in tried.accepted:
        if tagged.draft.id in repeats:
            detail = f"nearly the same as {repeats[tagged.draft.id]}"
            verdict = GateVerdict(VerdictState.REJECTED, NEAR_DUPLICATE, detail)
        elif len(rejected) > len(tried.rejected):
            verdict = GateVerdict(VerdictState.REJECTED, EARLIER_TURN)
        else:
            accepted.append(tagged)
            continue
        rejected.append(DraftJudgement(tagged.draft, NEAR_DUPLICATE, verdict))
    if len(accepted) == len(tried.accepted):
        return tried
    return _outcome(
        tried.cell, tried.evidence, tried.wave, accepted, rejected if accepted else _duplicates_first(rejected)
    )


def _duplicates_first(rejected: Sequence[DraftJudgement]) -> list[DraftJudgement]:
    return sorted(rejected, key=lambda judged: judged.verdict.reason != NEAR_DUPLICATE)
