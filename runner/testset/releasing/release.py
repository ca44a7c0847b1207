"""Writes the results of a run as the files of a set."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from shutil import rmtree

from components.json_value import Json
from components.records import Evidence, Sample
from components.testset.records import Draft, EvidenceSet
from components.testset.topics.tree import label_topics, nest
from components.testset.topics.voting import agreement
from runner.results.released_set import Testset
from runner.results.set_files import write_testset
from runner.results.set_lines import encode_line, gold_fields
from runner.testset.making.coverage import FieldCounts, as_csv, as_record, as_svg, coverage
from runner.testset.making.draft_outcomes import DRAFTING, AcceptedDraft, DraftOutcome, EvidenceOutcome
from runner.testset.making.generation_loop import GenerationState
from runner.testset.making.scheduling import MatrixField
from runner.testset.releasing.omnieval_layout import FOLDER, omnieval_files

COVERAGE, PICTURE, REJECTED, VOTES = "coverage.csv", "coverage.svg", "rejected.jsonl", "topics.jsonl"
TREE = "topic_tree.json"


def release(folder: Path, state: GenerationState, about: Mapping[str, Json]) -> Testset:
    """Write the set in place of an earlier one, and return it.

    Raises DataError for an invalid set, and if the folder cannot be written.
    """
    counts, labels = coverage(state), label_topics(state.topics)
    testset = _build_testset(state, counts, labels, about)
    layout, n_left_out = omnieval_files(testset, state.topics)
    testset = replace(testset, about={**testset.about, "n_samples_not_in_omnieval_layout": n_left_out})
    files = {
        **layout,
        COVERAGE: as_csv(counts, labels),
        PICTURE: as_svg(counts, labels),
        REJECTED: b"".join(map(encode_line, rejections(state.tried, labels))),
    }
    rmtree(folder / FOLDER, ignore_errors=True)  # topics of an earlier release may no longer exist
    for name in (VOTES, TREE):
        (folder / name).unlink(missing_ok=True)
    if state.topics:
        files[TREE] = json.dumps(nest(state.topics), ensure_ascii=False, indent=2).encode()
    if state.votes:
        files[VOTES] = b"".join(encode_line(asdict(vote)) for vote in state.votes)
    write_testset(folder, testset, files, replace=True)
    return testset


def _build_testset(
    state: GenerationState,
    counts: Mapping[MatrixField, FieldCounts],
    labels: Mapping[str, str],
    about: Mapping[str, Json],
) -> Testset:
    """Return the documents that stay in the corpus, and all samples in the order of their acceptance."""
    documents = state.documents
    accepted = [(tried, tagged) for tried in state.tried for tagged in tried.accepted]
    removed = {document_id for _, tagged in accepted for document_id in tagged.draft.removed}
    return Testset(
        documents.at([row for row, document_id in enumerate(documents.ids) if document_id not in removed]),
        tuple(_sample(tagged.draft, labels) for _, tagged in accepted),
        {tagged.draft.id: _provenance(tried, tagged.draft, tagged) for tried, tagged in accepted},
        about={
            **about,
            "corpus": state.counts,
            "n_waves": state.n_waves,
            "stopped": state.stopped,
            "coverage": as_record(counts, labels),
            "voters_agreement": asdict(agreement(state.votes)) if state.votes else None,
        },
    )


def _sample(draft: Draft, labels: Mapping[str, str]) -> Sample:
    return Sample(
        draft.id,
        draft.task,
        draft.kind,
        draft.question,
        draft.references,
        draft.gold,
        labels.get(draft.topic, draft.topic) or None,
        draft.task,
        draft.history,
    )


def _provenance(tried: EvidenceOutcome, draft: Draft, tagged: AcceptedDraft | None = None) -> dict[str, Json]:
    facts: dict[str, Json] = {
        "draft": draft.id,
        "evidence": evidence_fields(draft.evidence),
        "wave": tried.wave,
        "was_corrected": draft.was_corrected,
    }
    tags = [
        {"gate": tag.gate, "reason": tag.verdict.reason, "detail": tag.verdict.detail}
        for tag in (tagged.tags if tagged else ())
    ]
    more = {
        "tags": tags,
        "conversation": draft.conversation,
        "turn": draft.turn if draft.conversation else None,
        "expression": draft.expression,
        "removed": list(draft.removed),
        "notes": dict(draft.notes),
    }
    return {**facts, **{name: value for name, value in more.items() if value not in ("", None, [], {})}}


def evidence_fields(evidence: EvidenceSet) -> list[dict[str, Json]]:
    """Return the spans of the extracts in documents, as in the field `gold` of a sample."""
    return gold_fields(
        tuple(Evidence(extract.document_id, extract.start, extract.end) for extract in evidence.extracts)
    )


def rejections(tried: Iterable[EvidenceOutcome], labels: Mapping[str, str]) -> Iterable[dict[str, Json]]:
    """Yield a line for every rejected or pending draft, and for every evidence set without a draft."""
    for each in tried:
        cell = {"task": each.cell[1], "topic": labels.get(each.cell[0], each.cell[0]) or None}
        if each.not_drafted:
            refused = each.not_drafted
            yield {
                "id": each.evidence.id,
                **cell,
                "question": "",
                "gate": DRAFTING,
                "state": _state(each.outcome),
                "reason": refused.cause.value,
                "detail": refused.detail,
                "evidence": evidence_fields(each.evidence),
            }
        for judged in each.rejected:
            draft = judged.draft
            yield {
                "id": draft.id,
                **cell,
                "question": draft.question,
                "references": list(draft.references),
                "history": [vars(turn) for turn in draft.history],
                "gate": judged.gate,
                "state": judged.verdict.state.value,
                "reason": judged.verdict.reason,
                "detail": judged.verdict.detail,
                "gold": gold_fields(draft.gold),
                "evidence": evidence_fields(draft.evidence),
                "provenance": _provenance(each, draft),
            }


def _state(outcome: DraftOutcome) -> str:
    return "failed" if outcome is DraftOutcome.PENDING else "rejected"
