"""Groups of dependent samples. Confidence intervals and tests treat each group as one unit."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.records import Sample
from components.subsets import conversation_turns


class Groups(StrEnum):
    """The rule by which samples count as dependent.

    - document: samples that share a gold document, and turns of one conversation. Links through other samples count;
    - source: samples with the same first gold document, assumed to be written from it. A conversation belongs to the
      first gold document of its first turn. Other gold documents link nothing, so samples do not form chains;
    - none: no dependence. Every sample is a separate group, including turns of conversations.

    Every group of `source` is part of a group of `document`.
    """

    DOCUMENT = "document"
    SOURCE = "source"
    NONE = "none"


def groups_field() -> Groups:
    """Return the dataclass field `groups` of a data set, with default `document`."""
    return runtime_only(Groups.DOCUMENT, "it does not change the loaded data; the keys of intervals include it")


def choose_groups(dataset: object) -> Groups:
    """Return the `groups` of a data set, or `document` without such a field. Raises ValueError for an unknown rule."""
    return Groups(getattr(dataset, "groups", Groups.DOCUMENT))


def number_clusters(samples: Sequence[Sample], groups: Groups = Groups.DOCUMENT) -> NDArray[np.int64]:
    """Return the group id of each sample, int64[n_samples], numbered by first appearance.

    Pass all samples of a data set: two samples of a subset may be linked by a sample outside it.
    """
    if groups is Groups.NONE:
        return np.arange(len(samples), dtype=np.int64)
    openings = _openings(samples)
    if groups is Groups.SOURCE:
        return component_ids(_sources(samples, openings))
    ties: list[list[Hashable]] = []
    for sample, opening in zip(samples, openings, strict=True):
        document_ties: list[Hashable] = [("document", unit.document_id) for unit in sample.gold]
        ties.append([*document_ties, ("conversation", opening)] if opening is not None else document_ties)
    return component_ids(ties)


def _openings(samples: Sequence[Sample]) -> list[str | None]:
    """Return the first question of each sample's conversation, or None for a sample outside conversations."""
    turns = conversation_turns([(*(turn.question for turn in s.history), s.question) for s in samples])
    return [turn.opening if turn else None for turn in turns]


def _sources(samples: Sequence[Sample], openings: Sequence[str | None]) -> list[list[Hashable]]:
    """Return the ties of samples under the rule `source`: none or one per sample."""
    first_turns: dict[str, Sample] = {}
    for sample in samples:
        if not sample.history:
            first_turns.setdefault(sample.question, sample)
    ties: list[list[Hashable]] = []
    for sample, opening in zip(samples, openings, strict=True):
        first = sample if opening is None else first_turns.get(opening)
        if first and first.gold:
            ties.append([("document", first.gold[0].document_id)])
        else:
            ties.append([] if opening is None else [("conversation", opening)])
    return ties


def component_ids(ties: Sequence[Iterable[Hashable]]) -> NDArray[np.int64]:
    """Return the ids of connected components, int64[n], numbered by first appearance.

    Items that share a tie belong to the same component, directly or through other items. An item without ties is its
    own component.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    item = [row for row, names in enumerate(ties) for _ in names]
    nodes: dict[Hashable, int] = {}
    tie = [len(ties) + nodes.setdefault(name, len(nodes)) for names in ties for name in names]
    n = len(ties) + len(nodes)
    _, group = connected_components(coo_array((np.ones(len(item), dtype=np.int8), (item, tie)), shape=(n, n)), False)
    number: dict[int, int] = {}
    return np.array(
        [number.setdefault(group_id, len(number)) for group_id in group[: len(ties)].tolist()], dtype=np.int64
    )


class LargestGroup(NamedTuple):
    """The size of the largest group of samples, and the gold documents that at least two of its samples share.

    `shared_documents` maps each such document to its number of samples, most frequent first.
    """

    n_samples: int
    shared_documents: dict[str, int]


def largest_group(samples: Sequence[Sample], clusters: NDArray[np.int64], groups: Groups) -> LargestGroup:
    """Return the largest of the groups that `number_clusters` found: `clusters` int64[n_samples] under the rule
    `groups`.

    Ties go to the first group. Without samples, return an empty one. Under `source`, only first gold
    documents count as shared.
    """
    if not len(clusters):
        return LargestGroup(0, {})
    rows = np.flatnonzero(clusters == np.bincount(clusters).argmax()).tolist()
    n_units = 1 if groups is Groups.SOURCE else None
    counts = Counter(name for row in rows for name in {unit.document_id for unit in samples[row].gold[:n_units]})
    return LargestGroup(
        len(rows), {name: n for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n > 1}
    )
