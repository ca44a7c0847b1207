"""What is tried next: of every task and topic that still wants samples, the next evidence.

The order of the evidence of a cell is fixed by the seed; what came of earlier waves only says how much of it is tried.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.testset.records import EvidenceSet

Cell = tuple[str, str]
"""Topic and task, slugs; the topic is "" where there are none."""


@dataclass(frozen=True)
class Wanted:
    """How many samples of every cell, and how many evidence sets are tried for them at most. `removing` are the tasks
    that may be written of the removable documents alone.
    """

    tasks: tuple[str, ...]
    topics: tuple[str, ...]
    per_cell: int
    most_tries: int
    min_documents: int = 1
    removing: frozenset[str] = frozenset()

    @property
    def cells(self) -> list[Cell]:
        """All, by topic."""
        return [(topic, task) for topic in self.topics for task in self.tasks]

    @property
    def n_tries(self) -> int:
        """Of one cell, at most."""
        return self.per_cell * self.most_tries


@dataclass
class Progress:
    """What is known so far: the evidence of the documents that were seen, by cell in its order; how many documents each
    topic has; what was tried; how much of it was accepted.
    """

    evidence: dict[Cell, list[EvidenceSet]] = field(default_factory=dict)
    n_documents: Counter[str] = field(default_factory=Counter)
    n_tried: Counter[Cell] = field(default_factory=Counter)
    n_accepted: Counter[Cell] = field(default_factory=Counter)

    def add_evidence(self, sets: Sequence[EvidenceSet], topic_of: Mapping[str, str]) -> None:
        """Further evidence sets; `topic_of` says what the documents are about that they were made for. Those of
        documents without a topic are left out.
        """
        for own in sets:
            topic = topic_of.get(own.extracts[0].document_id)
            if topic is not None:
                self.evidence.setdefault((topic, own.task), []).append(own)


def next_batch(wanted: Wanted, progress: Progress, size: int) -> list[tuple[Cell, EvidenceSet]]:
    """At most `size` evidence sets, cells in turn: of each no more than it lacks. Counts them as tried."""
    batch: list[tuple[Cell, EvidenceSet]] = []
    open_cells = [cell for cell in wanted.cells if n_lacking(wanted, progress, cell)]
    room = {cell: n_to_try(wanted, progress, cell) for cell in open_cells}
    while len(batch) < size and any(room.values()):
        for cell in open_cells:
            if room[cell] and len(batch) < size:
                batch.append((cell, progress.evidence[cell][progress.n_tried[cell]]))
                progress.n_tried[cell] += 1
                room[cell] -= 1
    return batch


def n_lacking(wanted: Wanted, progress: Progress, cell: Cell) -> int:
    """Samples that a cell still wants."""
    return max(wanted.per_cell - progress.n_accepted[cell], 0)


def n_to_try(wanted: Wanted, progress: Progress, cell: Cell) -> int:
    """Evidence sets of a cell that may be tried now."""
    if progress.n_documents[cell[0]] < wanted.min_documents:
        return 0
    n_there = len(progress.evidence.get(cell, ())) - progress.n_tried[cell]
    n_left = wanted.n_tries - progress.n_tried[cell]
    return max(min(n_lacking(wanted, progress, cell), n_there, n_left), 0)


def is_full(wanted: Wanted, progress: Progress) -> bool:
    """True if no cell wants anything that may still be tried, whatever documents come."""
    return all(
        not n_lacking(wanted, progress, cell) or progress.n_tried[cell] >= wanted.n_tries for cell in wanted.cells
    )
