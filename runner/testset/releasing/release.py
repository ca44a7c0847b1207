"""Writes the results of a run as the files of a set."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from shutil import rmtree

from components.json_value import Json
from components.records import Evidence, Sample
from components.testset.records import Draft, EvidenceSet
from components.testset.topics.tree import labels_of, nested
from components.testset.topics.voting import agreement
from runner.results.released_set import Testset
from runner.results.set_files import write_testset
from runner.results.set_lines import gold_fields, line_of
from runner.testset.making.coverage import Count, as_csv, as_record, as_svg, coverage
from runner.testset.making.draft_outcomes import DRAFTING, DraftOutcome, Tagged, Tried
from runner.testset.making.making import Made
from runner.testset.making.scheduling import Cell
from runner.testset.releasing.omnieval_layout import FOLDER, omnieval_files

COVERAGE, PICTURE, REJECTED, VOTES = "coverage.csv", "coverage.svg", "rejected.jsonl", "topics.jsonl"
TREE = "topic_tree.json"


def release(folder: Path, made: Made, about: Mapping[str, Json]) -> Testset:
    """Write the set in place of an earlier one, and return it.

    Raises DataError for an invalid set, and if the folder cannot be written.
    """
    counts, labels = coverage(made), labels_of(made.topics)
    testset = _testset_of(made, counts, labels, about)
    layout, n_left_out = omnieval_files(testset, made.topics)
    testset = replace(testset, about={**testset.about, "n_samples_not_in_omnieval_layout": n_left_out})
    others = {
        **layout,
        COVERAGE: as_csv(counts, labels),
        PICTURE: as_svg(counts, labels),
        REJECTED: b"".join(map(line_of, rejections(made.tried, labels))),
    }
    rmtree(folder / FOLDER, ignore_errors=True)  # topics of an earlier release may no longer exist
    for name in (VOTES, TREE):
        (folder / name).unlink(missing_ok=True)
    if made.topics:
        others[TREE] = json.dumps(nested(made.topics), ensure_ascii=False, indent=2).encode()
    if made.votes:
        others[VOTES] = b"".join(line_of(asdict(vote)) for vote in made.votes)
    write_testset(folder, testset, others, replace=True)
    return testset


def _testset_of(
    made: Made, counts: Mapping[Cell, Count], labels: Mapping[str, str], about: Mapping[str, Json]
) -> Testset:
    """Return the documents that stay in the corpus, and all samples in the order of their acceptance."""
    documents = made.documents
    accepted = [(tried, own) for tried in made.tried for own in tried.accepted]
    removed = {document_id for _, own in accepted for document_id in own.draft.removed}
    return Testset(
        documents.at([row for row, document_id in enumerate(documents.ids) if document_id not in removed]),
        tuple(_sample(own.draft, labels) for _, own in accepted),
        {own.draft.id: _provenance(tried, own.draft, own) for tried, own in accepted},
        about={
            **about,
            "corpus": made.counts,
            "n_waves": made.n_waves,
            "stopped": made.stopped,
            "coverage": as_record(counts, labels),
            "voters_agreement": asdict(agreement(made.votes)) if made.votes else None,
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


def _provenance(tried: Tried, draft: Draft, tagged: Tagged | None = None) -> dict[str, Json]:
    facts: dict[str, Json] = {
        "draft": draft.id,
        "evidence": evidence_fields(draft.evidence),
        "wave": tried.wave,
        "was_corrected": draft.was_corrected,
    }
    tags = [
        {"gate": own.gate, "reason": own.verdict.reason, "detail": own.verdict.detail}
        for own in (tagged.tags if tagged else ())
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
    """Return the places of the extracts in documents, as in the field `gold` of a sample."""
    return gold_fields(tuple(Evidence(own.document_id, own.start, own.end) for own in evidence.extracts))


def rejections(tried: Iterable[Tried], labels: Mapping[str, str]) -> Iterable[dict[str, Json]]:
    """Yield a line for every rejected or pending draft, and for every evidence set without a draft."""
    for each in tried:
        place = {"task": each.cell[1], "topic": labels.get(each.cell[0], each.cell[0]) or None}
        if each.not_drafted:
            refused = each.not_drafted
            yield {
                "id": each.evidence.id,
                **place,
                "question": "",
                "gate": DRAFTING,
                "state": _state(each.outcome),
                "reason": refused.refusal.value,
                "detail": refused.detail,
                "evidence": evidence_fields(each.evidence),
            }
        for own in each.rejected:
            draft = own.draft
            yield {
                "id": draft.id,
                **place,
                "question": draft.question,
                "references": list(draft.references),
                "history": [vars(turn) for turn in draft.history],
                "gate": own.gate,
                "state": own.verdict.state.value,
                "reason": own.verdict.reason,
                "detail": own.verdict.detail,
                "gold": gold_fields(draft.gold),
                "evidence": evidence_fields(draft.evidence),
                "provenance": _provenance(each, draft),
            }


def _state(outcome: DraftOutcome) -> str:
    return "failed" if outcome is DraftOutcome.PENDING else "rejected"
