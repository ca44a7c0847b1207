"""The set that people annotate: the samples and documents that they see, and the annotations that belong to it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256

from components.errors import DataError
from components.records import Sample
from runner.results.released_set import Testset


def sample_per_cell(samples: Sequence[Sample], per_cell: int | None, seed: int) -> list[Sample]:
    """Return `per_cell` samples of each topic and task, in their order. Smaller matrix fields keep all samples, and so
    does None.

    The seed and the ids determine the draw. A larger number adds samples to a smaller draw.
    """
    if per_cell is None:
        return list(samples)
    cells: defaultdict[tuple[str | None, str | None], list[Sample]] = defaultdict(list)
    for sample in sorted(samples, key=lambda each: sha256(f"{seed} {each.id}".encode()).digest()):
        cells[sample.topic, sample.task].append(sample)
    chosen = {sample.id for members in cells.values() for sample in members[:per_cell]}
    return [sample for sample in samples if sample.id in chosen]


def documents_of(sample: Sample, testset: Testset) -> list[str]:
    """Return the ids of the documents that are shown with a sample: its gold first, then the rest of its evidence."""
    evidence = testset.provenance.get(sample.id, {}).get("evidence", [])
    names = [*(unit.document_id for unit in sample.gold), *(unit["document"] for unit in evidence)]
    return [name for name in dict.fromkeys(names) if name in testset.texts]


def list_topics(testset: Testset) -> list[str]:
    """Return all topics of the set, sorted."""
    return sorted({sample.topic for sample in testset.samples if sample.topic})


class AnnotatedVersions:
    """A set with its accepted versions, against which annotations are checked.

    Annotations of this version are accepted. With `accepts_parent`, annotations of its parent are too, because their
    ratings remain valid.
    """

    def __init__(self, testset: Testset, *, accepts_parent: bool) -> None:
        self.testset = testset
        self._parent = testset.parent if accepts_parent else ""

    @cached_property
    def topics(self) -> frozenset[str]:
        return frozenset(list_topics(self.testset))

    @cached_property
    def _samples(self) -> Mapping[str, Sample]:
        return {sample.id: sample for sample in self.testset.samples}

    def sample_of(self, name: str, version: str, location: str) -> Sample | None:
        """Return the sample; None for a sample of the parent that was deleted since.

        Raises DataError for another version, and for a sample that is not in this one.
        """
        if version not in (self.testset.key, self._parent) or not version:
            accepted = self.testset.key[:12] + (f" or its parent {self._parent[:12]}" if self._parent else "")
            raise DataError(
                f"{location}: annotates version {version[:12]!r} of a set, expected {accepted}. Pass the folder "
                "that was exported, or annotate this set."
            )
        if name not in self._samples and version == self.testset.key:
            raise DataError(
                f"{location}: annotates the sample {name!r}, which is not in this set. Pass the folder that "
                "was exported."
            )
        return self._samples.get(name)

    def documents_of(self, names: Sequence[str], location: str) -> Sequence[str]:
        """Return the ids of the shown documents. Raises DataError for a document that is not in this set."""
        if unknown := [name for name in names if name not in self.testset.texts]:
            raise DataError(
                f"{location}: shows the document {unknown[0]!r}, which is not in this set. Export the set again."
            )
        return names
