"""The line of the plan about samples that form one large group, and what ties them together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.clusters import Groups, clusters_of, largest_group
from components.records import Sample

_N_NAMED = 3

_FINER = {Groups.DOCUMENT: (Groups.SOURCE, Groups.NONE), Groups.SOURCE: (Groups.NONE,), Groups.NONE: ()}


def tied_line(samples: Sequence[Sample], rows: NDArray[np.intp], groups: Groups) -> str:
    """A line if the largest group holds more than half of the samples in `rows`, else "". `samples` are all of the data
    set's, since other samples can tie these together.
    """
    own = [samples[row] for row in rows.tolist()]
    clusters = clusters_of(samples, groups)[rows]
    largest = largest_group(own, clusters, groups)
    if largest.n_samples < 2 or 2 * largest.n_samples <= len(own):
        return ""
    is_all = largest.n_samples == len(own)
    which = f"All {len(own):,} samples" if is_all else f"{largest.n_samples:,} of {len(own):,} samples"
    finer = [
        f"dataset.groups={name} makes {len(np.unique(clusters_of(samples, name)[rows])):,}" for name in _FINER[groups]
    ]
    n_groups = len(np.unique(clusters))
    others = "" if is_all else f" The others form {n_groups - 1:,} more."
    return (
        f"{which} form one group: {_ties(largest.shared_documents)}.{others} {' groups, '.join(finer)} groups; "
        "docs/metrics.md says what each assumes."
    )


def _ties(shared: dict[str, int]) -> str:
    """E.g. "40 gold documents tie them together, most of all a (120 samples), b (98) and c (80)"."""
    if not shared:
        return "turns of one conversation"
    named = [f"{name} ({n:,} samples)" for name, n in list(shared.items())[:_N_NAMED]]
    if len(shared) == 1:
        return f"they share the gold document {named[0]}"
    return f"{len(shared):,} gold documents tie them together, most of all {', '.join(named)}"
