"""A part of another data set: the samples that are held out for examples, or all others."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from components.clusters import Groups, choose_groups, number_clusters
from components.datasets.assembly import limit_and_count
from components.datasets.subsampling import limit_problems
from components.errors import ConfigError, DataError
from components.protocols import Dataset, DatasetOverSource, Source, separate_source
from components.records import Benchmark, Documents, Sample

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """The samples of the data set `of` that are held out (`is_held_out`), or all others, over the same documents.

    Groups of samples are drawn by `seed` until they hold at least `held_out_share` of the samples of every kind. A
    group is never split: samples that share a gold document, and turns of one conversation, are held out together. No
    kind is held out completely. `limit` and `max_documents` apply to this part, as in other data sets.
    """

    of: Dataset
    held_out_share: float = 0.1
    seed: int = 0
    is_held_out: bool = False
    limit: int | None = None
    limit_seed: int = 0
    max_documents: int | None = None

    version: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Return the name of the whole data set."""
        return self.of.name

    def check(self) -> list[str]:
        """Return one message per error in the share and the two limits."""
        problems = limit_problems(self.limit, self.max_documents)
        if not 0 < self.held_out_share < 1:
            problems.append(f"held_out_share: got {self.held_out_share}, expected a share in (0, 1)")
        return problems

    def fingerprint(self) -> str:
        """Return the fingerprint of the whole data set."""
        return self.of.fingerprint()

    @property
    def groups(self) -> Groups:
        """Return the rule of grouping of the whole data set."""
        return choose_groups(self.of)

    @property
    def source(self) -> Source | None:
        """Return the source of the whole data set, whose documents are read once for all parts."""
        return separate_source(self.of)

    def load(self) -> Benchmark:
        """Load the whole data set and return this part.

        Raises ConfigError if `check` finds an error, DataError for errors in the files.
        """
        return self._select(self.of.load())

    def load_over(self, documents: Documents, counts: Mapping[str, int | str]) -> Benchmark:
        """Return the same as `load`, over documents that `source` has read."""
        assert isinstance(self.of, DatasetOverSource), "the whole data set has a source"
        return self._select(self.of.load_over(documents, counts))

    def _select(self, whole: Benchmark) -> Benchmark:
        if problems := self.check():
            raise ConfigError(problems)
        held_out = self._draw_held_out(whole.samples)
        samples = tuple(
            sample for position, sample in enumerate(whole.samples) if (position in held_out) == self.is_held_out
        )
        notes = {**whole.notes, "n_samples_held_out": len(held_out)}
        part = replace(whole, samples=samples, notes=notes)
        return limit_and_count(part, self.limit, self.limit_seed, self.max_documents)

    def _draw_held_out(self, samples: Sequence[Sample]) -> set[int]:
        """Return the positions of held-out samples. Raises DataError if the groups allow no division in two parts."""
        clusters = list(_group_positions(number_clusters(samples).tolist()).values())
        shuffled = [clusters[index] for index in np.random.default_rng(self.seed).permutation(len(clusters)).tolist()]
        n_left = Counter(kind for positions in shuffled for kind in {samples[position].kind for position in positions})
        held_out: set[int] = set()
        for kind_positions in sorted(
            _group_positions([sample.kind for sample in samples]).values(), key=len
        ):  # the rarest first
            for positions in shuffled:
                if len(held_out.intersection(kind_positions)) >= self.held_out_share * len(kind_positions):
                    break
                kinds = {samples[position].kind for position in positions}
                if (
                    held_out.isdisjoint(positions)
                    and not set(kind_positions).isdisjoint(positions)
                    and 1 not in map(n_left.get, kinds)
                ):
                    held_out.update(positions)
                    n_left.subtract(kinds)
        if not held_out:
            raise DataError(
                f"{self.name}: all {len(samples)} samples are connected by gold documents or conversations, so that no "
                "part of them can be held out. Use a separate training split with examples=from_dataset."
            )
        return held_out


def _group_positions(names: Sequence[T]) -> dict[T, list[int]]:
    """Return the positions of each name."""
    positions: dict[T, list[int]] = defaultdict(list)
    for position, name in enumerate(names):
        positions[name].append(position)
    return positions
