"""The groups of samples that results speak of: their names, and which samples are in them."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

OVERALL = "overall"
"""All samples: the micro mean."""

MACRO = "macro"
"""The mean over the data set's subsets."""

GROUPINGS = ("topic", "task", "matrix")
"""First parts of the names of groups that cut across the data set's own subsets."""

AVERAGE = "all"
"""Of a topic x task matrix, the row over all topics and the column over all tasks."""


def subsets_of(subset: str, topic: str | None, task: str | None) -> list[str]:
    """Every group that a sample counts in: overall, prefixes of its subset, its topic, its task, its matrix cell."""
    parts = subset.split("/")
    names = [OVERALL, *("/".join(parts[:n]) for n in range(1, len(parts) + 1))]
    if topic:
        names.append(f"topic/{topic}")
    if task:
        names.append(f"task/{task}")
    if topic and task:
        names.append(f"matrix/{topic}/{task}")
    return names


def clusters_of(first_documents: Iterable[str | None]) -> NDArray[np.int64]:
    """Ids of the groups that a resampling draws as a whole, int64[n_samples], from the document of each sample's first
    evidence: samples of one document (the turns of a conversation, say) are not independent. A sample without evidence
    (None) is its own group.
    """
    sources = [(i, None) if name is None else (-1, name) for i, name in enumerate(first_documents)]
    number = {source: i for i, source in enumerate(dict.fromkeys(sources))}
    return np.array([number[source] for source in sources], dtype=np.int64)
