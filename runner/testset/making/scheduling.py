"""Chooses the evidence that is tried next, for every task and topic that still lacks samples.

The seed fixes the order of a matrix field's evidence. Outcomes of earlier waves only determine how much of it is tried.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.testset.records import EvidenceSet

MatrixField = tuple[str, str]
"""Topic and task, as slugs. The topic is "" in a run without topics."""


@dataclass(frozen=True)
class GenerationRequest:
    """The requested number of samples per matrix field, and the limits on evidence.

    At most `max_tries` evidence sets are tried per sample. The tasks in `removing` use only the removable documents.
    """

    tasks: tuple[str, ...]
    topics: tuple[str, ...]
    per_cell: int
    max_tries: int
    min_documents: int = 1
    removing: frozenset[str] = frozenset()

    @property
    def cells(self) -> list[MatrixField]:
        """All matrix fields, ordered by topic."""
        return [(topic, task) for topic in self.topics for task in self.tasks]

    @property
    def n_tries(self) -> int:
        """Maximum number of evidence sets that are tried for one matrix field."""
        return self.per_cell * self.max_tries


@dataclass
class FieldProgress:
    """Progress of a run: the evidence found so far by matrix field, in order, the number of documents by topic, and
    the numbers of tried and accepted evidence sets by matrix field.
    """

    evidence: dict[MatrixField, list[EvidenceSet]] = field(default_factory=dict)
    n_documents: Counter[str] = field(default_factory=Counter)
    n_tried: Counter[MatrixField] = field(default_factory=Counter)
    n_accepted: Counter[MatrixField] = field(default_factory=Counter)

    def add_evidence(self, sets: Sequence[EvidenceSet], topic_of: Mapping[str, str]) -> None:
        """Add evidence sets. `topic_of` maps a document to its topic; evidence of documents without a topic is left
        out.
        """
        for each in sets:
            topic = topic_of.get(each.extracts[0].document_id)
            if topic is not None:
                self.evidence.setdefault((topic, each.task), []).append(each)


def next_batch(
    requested: GenerationRequest, progress: FieldProgress, size: int
) -> list[tuple[MatrixField, EvidenceSet]]:
    """Return at most `size` evidence sets, from each matrix field in turn, and count them as tried. A field gets no
    more than it lacks.
    """
    batch: list[tuple[MatrixField, EvidenceSet]] = []
    open_cells = [cell for cell in requested.cells if n_lacking(requested, progress, cell)]
    room = {cell: n_to_try(requested, progress, cell) for cell in open_cells}
    while len(batch) < size and any(room.values()):
        for cell in open_cells:
            if room[cell] and len(batch) < size:
                batch.append((cell, progress.evidence[cell][progress.n_tried[cell]]))
                progress.n_tried[cell] += 1
                room[cell] -= 1
    return batch


def n_lacking(requested: GenerationRequest, progress: FieldProgress, cell: MatrixField) -> int:
    """Return the number of samples that a matrix field still lacks."""
    return max(requested.per_cell - progress.n_accepted[cell], 0)


def n_to_try(requested: GenerationRequest, progress: FieldProgress, cell: MatrixField) -> int:
    """Return the number of evidence sets of a matrix field that may be tried now."""
    if progress.n_documents[cell[0]] < requested.min_documents:
        return 0
    n_untried = len(progress.evidence.get(cell, ())) - progress.n_tried[cell]
    n_left = requested.n_tries - progress.n_tried[cell]
    return max(min(n_lacking(requested, progress, cell), n_untried, n_left), 0)


def is_full(requested: GenerationRequest, progress: FieldProgress) -> bool:
    """Return True if every matrix field has its samples or has no tries left, so that more documents would change
    nothing.
    """
    return all(
        not n_lacking(requested, progress, cell) or progress.n_tried[cell] >= requested.n_tries
        for cell in requested.cells
    )
