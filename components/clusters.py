"""Which samples depend on one another: the groups that intervals and tests take as a whole."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from components.records import Sample


def clusters_of(samples: Sequence[Sample]) -> NDArray[np.int64]:
    """Ids of the groups of samples, int64[n_samples], as `connected` gives them: samples share a group if they share a
    gold document, or if they are turns of one conversation, directly or by way of others. Groups come from all of a
    data set: two samples of a subset may belong together through one that is not in it.
    """
    conversations = {sample.history[0].question for sample in samples if sample.history}
    ties: list[list[Hashable]] = []
    for sample in samples:
        own: list[Hashable] = [("document", unit.document_id) for unit in sample.gold]
        # No data set names its conversations: the question that began one does.
        opening = sample.history[0].question if sample.history else sample.question
        if opening in conversations:
            own.append(("conversation", opening))
        ties.append(own)
    return connected(ties)


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
