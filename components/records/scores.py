"""Scores of metrics, judgements and confidence intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from components.records.passages import Passage
from components.records.samples import Sample


class ScoreState(StrEnum):
    """The outcome of scoring one sample by one metric."""

    VALUE = "value"
    NOT_APPLICABLE = "not_applicable"
    NO_GOLD = "no_gold"
    NO_GOLD_IN_CORPUS = "no_gold_in_corpus"
    ANSWER_ERROR = "answer_error"
    UNPARSABLE = "unparsable"
    FAILED = "failed"
    NO_CITATIONS = "no_citations"
    HELD_OUT = "held_out"
    NOT_DRAWN = "not_drawn"


@dataclass(frozen=True)
class Scores:
    """One metric over many samples.

    `statistics` float64[n_samples, d] are summed over a subset and passed to the metric's `combine`. Rows whose state
    is not VALUE are zeros and are left out. `states` has one ScoreState per sample. A mean has d = 2: value and 1.
    `values` float64[n_samples] is the metric of each single sample; NaN without a score, and for metrics of a whole
    corpus.
    """

    statistics: NDArray[np.float64]
    states: tuple[ScoreState, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class JudgeInput:
    """An answer to judge ("" for an empty or refused one), and the passages in its prompt."""

    sample: Sample
    answer: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class AnswerCheck:
    """The verdict of a check on an answer: whether the passages support it, or None if there is no verdict.

    The findings are statements that the passages do not support, and statements of the passages that the answer lacks.
    An answer with a finding is revised. `unread` is the reason why a model's reply could not be read, `failed` the
    reason why a request failed; both are "" otherwise.
    """

    supported: bool | None
    unsupported: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unread: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Judgements:
    """Results of a judge for many samples: one Scores per metric name, and one remark per sample for people to read."""

    scores: Mapping[str, Scores]
    remarks: Sequence[str]


class IntervalMethod(StrEnum):
    """The method by which an interval was computed."""

    WILSON = "wilson"
    T = "t"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class Interval:
    """A value with its confidence interval, from `n_clusters` groups of samples.

    The value is None if no sample could be scored. `low`, `high` and `method` are None if the samples do not determine
    an interval. `error` is the standard error, None for a single cluster. `n_effective` is the number of equally large
    clusters with the same precision.
    """

    value: float | None
    low: float | None
    high: float | None
    n_clusters: int = 0
    method: IntervalMethod | None = None
    error: float | None = None
    n_effective: float = 0.0
