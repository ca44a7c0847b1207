"""The topic x task matrix of a run: requested, tried and accepted samples."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.json_value import Json
from components.subsets import AVERAGE
from runner.console.display import escape_formula
from runner.output.heatmap import draw
from runner.testset.making.draft_outcomes import DraftOutcome
from runner.testset.making.generation_loop import NO_TOPIC, GenerationState
from runner.testset.making.scheduling import MatrixField, n_lacking

TOO_RARE = "too few documents"
NO_DOCUMENTS = "no document has this topic"
NO_EVIDENCE = "no more evidence in the documents (evidence.most_sets, evidence.most_contained)"
NO_REMOVABLE = "no more evidence in removable documents (removable_share)"
NO_TRIES_LEFT = "no tries left (waves.most_tries)"
PENDING = "requests failed"


@dataclass
class FieldCounts:
    """Counts of one matrix field: tried = accepted + rejected (by reason) + pending. `short` is the reason for fewer
    samples than requested.
    """

    requested: int
    n_documents: int = 0
    tried: int = 0
    accepted: int = 0
    pending: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    short: str = ""

    @property
    def rejected(self) -> int:
        """Number of rejected evidence sets, for all reasons."""
        return self.reasons.total()


def coverage(state: GenerationState) -> dict[MatrixField, FieldCounts]:
    """Return the counts of every matrix field, ordered by topic."""
    counts = {
        cell: FieldCounts(state.requested.per_cell, state.progress.n_documents[cell[0]])
        for cell in state.requested.cells
    }
    for tried in state.tried:
        count = counts[tried.cell]
        count.tried += 1
        count.accepted += tried.outcome is DraftOutcome.ACCEPTED
        count.pending += tried.outcome is DraftOutcome.PENDING
        if tried.outcome is DraftOutcome.REJECTED:
            count.reasons[tried.reason] += 1
    for cell, count in counts.items():
        if n_lacking(state.requested, state.progress, cell):
            count.short = _why_short(state, cell, count)
    return counts


def _why_short(state: GenerationState, cell: MatrixField, count: FieldCounts) -> str:
    if state.stopped:
        return state.stopped
    if count.n_documents < state.requested.min_documents:
        return f"{TOO_RARE} ({count.n_documents}, topics.min_documents={state.requested.min_documents})"
    if count.pending >= count.requested - count.accepted:
        return PENDING
    if count.tried >= state.requested.n_tries:
        return NO_TRIES_LEFT
    if not count.n_documents:
        return NO_DOCUMENTS
    return NO_REMOVABLE if cell[1] in state.requested.removing else NO_EVIDENCE


def as_csv(counts: Mapping[MatrixField, FieldCounts], labels: Mapping[str, str]) -> bytes:
    """Return CSV in UTF-8: a row per matrix field, a column per reason."""
    reasons = sorted({reason for count in counts.values() for reason in count.reasons})
    fields = ["topic", "task", "documents", "requested", "tried", "accepted", "rejected", "pending", "short", *reasons]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(fields)
    for (topic, task), count in counts.items():
        numbers = [count.n_documents, count.requested, count.tried, count.accepted, count.rejected, count.pending]
        rows.writerow(
            [
                escape_formula(labels.get(topic, topic)),
                escape_formula(task),
                *numbers,
                count.short,
                *(count.reasons[reason] for reason in reasons),
            ]
        )
    return text.getvalue().encode()


def as_record(counts: Mapping[MatrixField, FieldCounts], labels: Mapping[str, str]) -> list[dict[str, Json]]:
    """Return the counts as entries of the manifest."""
    return [
        {
            "topic": labels.get(topic, topic),
            "task": task,
            "requested": count.requested,
            "tried": count.tried,
            "accepted": count.accepted,
            "pending": count.pending,
            "rejected": dict(sorted(count.reasons.items())),
            "short": count.short,
        }
        for (topic, task), count in counts.items()
    ]


def as_svg(counts: Mapping[MatrixField, FieldCounts], labels: Mapping[str, str]) -> bytes:
    """Return a heatmap of the accepted share of the requested samples, with the number of samples in small print."""
    topics = list(dict.fromkeys(topic for topic, _ in counts))
    tasks = list(dict.fromkeys(task for _, task in counts))
    cells = {cell: _share([count]) for cell, count in counts.items()}
    cells |= {(topic, AVERAGE): _share([counts[topic, task] for task in tasks]) for topic in topics}
    cells |= {(AVERAGE, task): _share([counts[topic, task] for topic in topics]) for task in tasks}
    cells[AVERAGE, AVERAGE] = _share(list(counts.values()))
    named = {NO_TOPIC: "all documents", **labels}
    return draw("accepted / requested", cells, topics, tasks, named, scale=(0.0, 1.0))


def _share(counts: Sequence[FieldCounts]) -> dict[str, Json]:
    n_accepted = sum(count.accepted for count in counts)
    return {"value": n_accepted / sum(count.requested for count in counts), "n": n_accepted}
