"""Which samples depend on one another: the groups that intervals and tests take as a whole."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.records import Sample


class Groups(StrEnum):
    """Which samples are taken to depend on one another.

    - document: samples that share a gold document, and turns of one conversation, directly or through other samples;
    - source: samples with the same first gold document, from which they are taken to be made. A conversation belongs to
      the first gold document of its first turn. Other gold documents tie nothing, so samples form no chains;
    - none: no samples. Every sample is a group of its own, turns of conversations included.

    Every group of `source` is inside a group of `document`.
    """

    DOCUMENT = "document"
    SOURCE = "source"
    NONE = "none"


def groups_field() -> Any:
    """The field `groups` of a data set: `document` unless the user chooses otherwise."""
    return runtime_only(Groups.DOCUMENT, "it changes nothing that is loaded; the keys of intervals hold it")


def groups_of(dataset: object) -> Groups:
    """The `groups` of a data set, `document` for one without this field. Raises ValueError for an unknown name."""
    return Groups(getattr(dataset, "groups", Groups.DOCUMENT))


def clusters_of(samples: Sequence[Sample], groups: Groups = Groups.DOCUMENT) -> NDArray[np.int64]:
    """Ids of the groups of samples, int64[n_samples], as `connected` numbers them. Groups come from all of a data set:
    two samples of a subset may belong together through one that is not in it.
    """
    if groups is Groups.NONE:
        return np.arange(len(samples), dtype=np.int64)
    openings = _openings(samples)
    if groups is Groups.SOURCE:
        return connected(_sources(samples, openings))
    ties: list[list[Hashable]] = []
    for sample, opening in zip(samples, openings, strict=True):
        own: list[Hashable] = [("document", unit.document_id) for unit in sample.gold]
        ties.append([*own, ("conversation", opening)] if opening is not None else own)
    return connected(ties)


def _openings(samples: Sequence[Sample]) -> list[str | None]:
    """The question that began each sample's conversation, None for a sample that is in none. No data set names its
    conversations.
    """
    conversations = {sample.history[0].question for sample in samples if sample.history}
    openings = [sample.history[0].question if sample.history else sample.question for sample in samples]
    return [opening if opening in conversations else None for opening in openings]


def _sources(samples: Sequence[Sample], openings: Sequence[str | None]) -> list[list[Hashable]]:
    """At most one tie per sample."""
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


def connected(ties: Sequence[Iterable[Hashable]]) -> NDArray[np.int64]:
    """Ids, int64[n], numbered as they appear: items with a tie in common have the same one, and so has whatever they
    are connected with (connected components). An item without ties is a group of its own.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    item = [row for row, own in enumerate(ties) for _ in own]
    place: dict[Hashable, int] = {}
    tie = [len(ties) + place.setdefault(name, len(place)) for own in ties for name in own]
    n = len(ties) + len(place)
    _, group = connected_components(coo_array((np.ones(len(item), dtype=np.int8), (item, tie)), shape=(n, n)), False)
    number: dict[int, int] = {}
    return np.array([number.setdefault(own, len(number)) for own in group[: len(ties)].tolist()], dtype=np.int64)


class LargestGroup(NamedTuple):
    """The largest group of samples: its size, and its documents that are gold of at least two of its samples, each with
    the number of these samples, the commonest first.
    """

    n_samples: int
    shared_documents: dict[str, int]


def largest_group(samples: Sequence[Sample], clusters: NDArray[np.int64], groups: Groups) -> LargestGroup:
    """The largest of the groups `clusters`, int64[n_samples], that `clusters_of` made for `groups`; of equally large
    ones the first. An empty one without samples. For `source` only first gold documents count as shared.
    """
    if not len(clusters):
        return LargestGroup(0, {})
    rows = np.flatnonzero(clusters == np.bincount(clusters).argmax()).tolist()
    n_units = 1 if groups is Groups.SOURCE else None
    counts = Counter(name for row in rows for name in {unit.document_id for unit in samples[row].gold[:n_units]})
    return LargestGroup(
        len(rows), {name: n for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n > 1}
    )
