"""Partially pooled values of the matrix fields, some of which have only a few samples."""

from collections.abc import Mapping, Sequence

import numpy as np

from components.json_value import Json
from components.metrics.pooling import Fields, pool_fields
from components.records import Interval

_MATRIX = "matrix/"


def pooled_entries(
    subsets: Sequence[str], intervals: Sequence[Interval], confidence: float, *, is_share: bool
) -> Mapping[str, dict[str, Json]]:
    """Return `{pooled, pooled_low, pooled_high}` of one metric by name of a matrix field's subset.

    `intervals` are the metric's Interval over each of the subsets. Values are None if nothing could be scored, or if
    the matrix is too small to fit a model.
    """
    names = [name for name in subsets if name.startswith(_MATRIX)]
    entries: dict[str, dict[str, Json]] = {
        name: {"pooled": None, "pooled_low": None, "pooled_high": None} for name in names
    }
    known_intervals = {
        name: interval
        for name, interval in zip(subsets, intervals, strict=True)
        if name.startswith(_MATRIX) and interval.value is not None
    }
    pooled = pool_fields(_fields(known_intervals)) if known_intervals else None
    if pooled is None:
        return entries
    from scipy.special import ndtri

    is_share = is_share and all(0 <= (interval.value or 0) <= 1 for interval in known_intervals.values())
    half = ndtri((1 + confidence) / 2) * pooled.error
    value, low, high = pooled.value, pooled.value - half, pooled.value + half
    if is_share:
        # Clipped, not computed on the logit scale: the error of the model does not shrink towards 0 and 1, unlike the
        # error of a share.
        value, low, high = (np.clip(each, 0.0, 1.0) for each in (value, low, high))
    for name, *numbers in zip(known_intervals, value.tolist(), low.tolist(), high.tolist(), strict=True):
        entries[name] = dict(zip(("pooled", "pooled_low", "pooled_high"), numbers, strict=True))
    return entries


def _fields(known_intervals: Mapping[str, Interval]) -> Fields:
    topics, tasks = zip(*(name.split("/")[1:] for name in known_intervals), strict=True)
    intervals = list(known_intervals.values())
    return Fields(
        np.unique(topics, return_inverse=True)[1],
        np.unique(tasks, return_inverse=True)[1],
        np.array([interval.value for interval in intervals]),
        np.array([np.nan if interval.error is None else interval.error for interval in intervals]),
        np.array([interval.n_effective for interval in intervals]),
        np.array([interval.n_clusters for interval in intervals], dtype=np.float64),
    )
