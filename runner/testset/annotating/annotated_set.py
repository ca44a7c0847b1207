"""The set that annotations are of."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from components.errors import DataError
from components.records import Sample
from runner.results.released_set import Testset
from runner.testset.annotating.shown_to_annotators import topics_of


class Known:
    """A set, and of which versions annotations are accepted: its own, and with `of_parent` that which it was made of,
    whose ratings hold on.
    """

    def __init__(self, testset: Testset, *, of_parent: bool) -> None:
        self.testset = testset
        self._parent = testset.parent if of_parent else ""

    @cached_property
    def topics(self) -> frozenset[str]:
        """Of all samples."""
        return frozenset(topics_of(self.testset))

    @cached_property
    def _samples(self) -> Mapping[str, Sample]:
        return {sample.id: sample for sample in self.testset.samples}

    def sample_of(self, name: str, version: str, where: str) -> Sample | None:
        """The sample; None for one of the parent that is no longer there. Raises DataError for another version, and for
        a sample that is not in this one.
        """
        if version not in (self.testset.key, self._parent) or not version:
            accepted = self.testset.key[:12] + (f" or its parent {self._parent[:12]}" if self._parent else "")
            raise DataError(
                f"{where}: annotates version {version[:12]!r} of a set; this one is {accepted}. Name the folder that "
                "was exported, or annotate this one."
            )
        if name not in self._samples and version == self.testset.key:
            raise DataError(f"{where}: annotates the sample '{name}', which is not in this set. Is it another export?")
        return self._samples.get(name)

    def documents_of(self, names: Sequence[str], where: str) -> Sequence[str]:
        """The documents that were shown. Raises DataError for one that is not in this set."""
        if unknown := [name for name in names if name not in self.testset.texts]:
            raise DataError(f"{where}: shows the document '{unknown[0]}', which is not in this set. Was it changed?")
        return names
