"""What annotators see of a set: which of its samples, and which documents with each."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

from components.records import Sample
from runner.results.released_set import Testset


def drawn(samples: Sequence[Sample], per_cell: int | None, seed: int) -> list[Sample]:
    """`per_cell` samples of each topic and task (all where there are fewer, or for None), in their order.

    They are drawn by the seed and their ids: a larger number adds to a smaller one.
    """
    if per_cell is None:
        return list(samples)
    cells: defaultdict[tuple[str | None, str | None], list[Sample]] = defaultdict(list)
    for sample in sorted(samples, key=lambda own: sha256(f"{seed} {own.id}".encode()).digest()):
        cells[sample.topic, sample.task].append(sample)
    chosen = {sample.id for own in cells.values() for sample in own[:per_cell]}
    return [sample for sample in samples if sample.id in chosen]


def documents_of(sample: Sample, testset: Testset) -> list[str]:
    """Ids of the documents that are shown with a sample: those of its gold, then what else it was written of."""
    evidence = testset.provenance.get(sample.id, {}).get("evidence", [])
    names = [*(unit.document_id for unit in sample.gold), *(unit["document"] for unit in evidence)]
    return [name for name in dict.fromkeys(names) if name in testset.texts]


def topics_of(testset: Testset) -> list[str]:
    """All topics of the set, sorted."""
    return sorted({sample.topic for sample in testset.samples if sample.topic})
