"""What is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from components.records.passages import Passage
from components.records.samples import Sample


class ScoreState(StrEnum):
    """How the scoring of one sample by one metric ended."""

    VALUE = "value"
    NOT_APPLICABLE = "not_applicable"
    NO_GOLD = "no_gold"
    NO_GOLD_IN_CORPUS = "no_gold_in_corpus"
    ANSWER_ERROR = "answer_error"
    UNPARSABLE = "unparsable"
    FAILED = "failed"
    NO_CITATIONS = "no_citations"
    HELD_OUT = "held_out"


@dataclass(frozen=True)
class Scores:
    """One metric over many samples.

    `statistics` float64[n_samples, d] are summed over a subset and handed to the metric's `combine`; rows whose state
    is not VALUE are zeros and are left out. `states` is one ScoreState per sample. A mean has d = 2: value and 1.
    `values` float64[n_samples] is the metric of each sample alone, NaN where there is none (or where it exists for a
    corpus only).
    """

    statistics: NDArray[np.float64]
    states: tuple[ScoreState, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class JudgeInput:
    """What a judge looks at: an answer ("" for an empty or refused one) and the passages that its prompt held."""

    sample: Sample
    answer: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Judgements:
    """What a judge made of many samples: one Scores per metric name, and per sample what it said, for the reader."""

    scores: Mapping[str, Scores]
    remarks: Sequence[str]


class IntervalMethod(StrEnum):
    """How an interval was made."""

    WILSON = "wilson"
    T = "t"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class Interval:
    """A value with its confidence interval, from `n_clusters` groups of samples. The value is None where nothing could
    be scored; `low`, `high` and `method` are None where the samples do not say how sure the value is. `error` is its
    standard error, None for a single cluster, and `n_effective` the number of clusters of equal size that are as good.
    """

    value: float | None
    low: float | None
    high: float | None
    n_clusters: int = 0
    method: IntervalMethod | None = None
    error: float | None = None
    n_effective: float = 0.0
