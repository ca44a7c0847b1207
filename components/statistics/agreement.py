"""Agreement of two raters: the share of equal grades and Cohen's kappa, plain and weighted, with intervals.

Also compares two raters by their agreement with a third one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

N_DRAWS = 10_000
CONFIDENCE = 0.95
MIN_QUESTIONS = 5
"""With fewer questions, an interval would itself be too uncertain to report."""

_BLOCK_ELEMENTS = 2_000_000

Counts = NDArray[np.float64]
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Measure:
    """A value with its interval. `value` is None if undefined. `interval` is then None too, as it is for too few
    questions.
    """

    value: float | None
    interval: Bounds | None


@dataclass(frozen=True)
class Agreement:
    """`confusion` int64[n_classes, n_classes] counts pairs of (human class, judge's class) over `classes`.

    `kappa` is undefined if both raters gave the same single class throughout. `weighted_kappa` covers the `n_graded`
    items that both raters gave a number. It is undefined unless two different numbers occur among them.
    """

    n: int
    n_questions: int
    n_graded: int
    accuracy: Measure
    kappa: Measure
    weighted_kappa: Measure
    classes: tuple[str, ...]
    confusion: NDArray[np.int64]


def agree(labels: Sequence[str], judged: Sequence[str], questions: Sequence[int], seed: int = 0) -> Agreement:
    """Return the agreement of two raters on the same items (at least one). `questions` holds the question of each item.

    Answers to one question are judged alike, so the intervals treat a question as one unit.

    Kappa: Cohen 1960, "A coefficient of agreement for nominal scales"; all disagreements have the same weight. Weighted
    kappa: Cohen 1968, "Weighted kappa"; a disagreement is weighted by the squared distance of the two grades.

    Intervals are credible intervals. Questions have random weights (Rubin 1981, "The Bayesian bootstrap"). A prior of
    one question is spread over all pairs of classes, half of it on equal classes: Jeffreys' prior for the share of
    equal grades. The intervals therefore do not shrink to a point if all items agree or a rater is constant. They are
    widened as Student's t is for few questions. Fewer than 5 questions give no interval.
    """
    classes = tuple(sorted({*labels, *judged}))
    index = {name: i for i, name in enumerate(classes)}
    pairs = np.array([index[name] for name in labels]) * len(classes) + np.array([index[name] for name in judged])
    all_items = _Confusions(pairs, np.asarray(questions), _prior(len(classes)), seed)
    numbers = {name: int(name) for name in classes if _is_number(name)}
    graded = [i for i, pair in enumerate(zip(labels, judged, strict=True)) if all(name in numbers for name in pair)]
    return Agreement(
        len(labels),
        all_items.n_questions,
        len(graded),
        all_items.measure(_accuracy),
        all_items.measure(_kappa),
        _measure_weighted_kappa([(numbers[labels[i]], numbers[judged[i]], questions[i]) for i in graded], seed),
        classes,
        all_items.observed.astype(np.int64),
    )


@dataclass(frozen=True)
class Gain:
    """Differences of agreement with human labels between a judge and an earlier judge, on the same items.

    Values are in [-2, 2], or None if either agreement is undefined.
    """

    accuracy: Measure
    kappa: Measure


def gain(
    labels: Sequence[str], before: Sequence[str], after: Sequence[str], questions: Sequence[int], seed: int = 0
) -> Gain:
    """Return the gain of `after` over `before` in agreement with `labels`, on the same items (at least one).

    Intervals are computed as in `agree`, with paired draws: a question has the same random weight for both judges, so
    its difficulty cancels. Either judge has the prior of `agree`, and the two priors are independent.
    """
    classes = tuple(sorted({*labels, *before, *after}))
    index = {name: i for i, name in enumerate(classes)}
    label, old, new = (np.array([index[name] for name in names]) for names in (labels, before, after))
    prior = _prior(len(classes))
    both = prior[:, :, np.newaxis] * prior[:, np.newaxis, :] / prior.sum(axis=1)[:, np.newaxis, np.newaxis]
    triples = _Confusions((label * len(classes) + old) * len(classes) + new, np.asarray(questions), both, seed)

    def difference(measure: Callable[[Counts], Counts]) -> Measure:
        return triples.measure(lambda counts: measure(counts.sum(axis=-2)) - measure(counts.sum(axis=-1)), limit=2)

    return Gain(difference(_accuracy), difference(_kappa))


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdigit()


def _measure_weighted_kappa(items: Sequence[tuple[int, int, int]], seed: int) -> Measure:
    """Return the quadratic-weighted kappa of (label, grade, question)."""
    grades = sorted({grade for label, judged, _ in items for grade in (label, judged)})
    if len(grades) < 2:
        return Measure(None, None)
    index = {grade: i for i, grade in enumerate(grades)}
    pairs = np.array([index[label] * len(grades) + index[judged] for label, judged, _ in items])
    scale = np.array(grades, dtype=np.float64)
    distances = (scale[:, np.newaxis] - scale) ** 2
    confusions = _Confusions(pairs, np.array([question for *_, question in items]), _prior(len(grades)), seed)
    return confusions.measure(lambda counts: _weighted_kappa(counts, distances))


class _Confusions:
    """The observed table of classes, and draws of the table over all questions of this kind."""

    def __init__(self, cells: NDArray[np.int64], questions: NDArray[np.int64], prior: Counts, seed: int) -> None:
        """`cells` int64[n_items] are positions in the flattened table, which has the shape of `prior`."""
        _, question = np.unique(questions, return_inverse=True)
        self.n_questions = int(question.max()) + 1
        by_question = np.zeros((self.n_questions, prior.size))
        np.add.at(by_question, (question, cells), 1.0)
        self._prior = prior
        self.observed: Counts = by_question.sum(axis=0).reshape(prior.shape)
        self._by_question = by_question / (len(cells) / self.n_questions)  # the unit is a question of mean size
        self._random = np.random.default_rng((seed, len(cells), self.n_questions))

    def measure(self, statistic: Callable[[Counts], Counts], limit: float = 1) -> Measure:
        """Return a value in [-limit, limit] with its interval over the draws."""
        value = float(statistic(self.observed))
        if np.isnan(value):
            return Measure(None, None)
        if self.n_questions < MIN_QUESTIONS:
            return Measure(value, None)
        return Measure(value, self._interval(value, statistic(self._draws), limit))

    @cached_property
    def _draws(self) -> Counts:
        """Draws of the table, float64[N_DRAWS, *shape of the table]."""
        prior = self._prior.ravel()
        n_at_once = max(1, _BLOCK_ELEMENTS // self.n_questions)
        blocks = []
        for first in range(0, N_DRAWS, n_at_once):
            n = min(n_at_once, N_DRAWS - first)
            draws = self._random.standard_exponential((n, self.n_questions)) @ self._by_question
            blocks.append((draws + self._random.gamma(prior, size=(n, len(prior)))).reshape(n, *self._prior.shape))
        return np.concatenate(blocks)

    def _interval(self, value: float, draws: Counts, limit: float) -> Bounds:
        from scipy.stats import norm, t

        upper = (1 + CONFIDENCE) / 2
        wider = t.ppf(upper, self.n_questions - 1) / norm.ppf(upper)
        low, high = np.nanquantile(draws, [1 - upper, upper])
        return max(-limit, value - wider * max(0.0, value - low)), min(limit, value + wider * max(0.0, high - value))


def _prior(n_classes: int) -> Counts:
    """Return the prior, float64[n_classes, n_classes], worth one question: half on pairs of equal classes, half on the
    others.
    """
    if n_classes == 1:
        return np.ones((1, 1))
    prior = np.full((n_classes, n_classes), 0.5 / (n_classes * (n_classes - 1)))
    np.fill_diagonal(prior, 0.5 / n_classes)
    return prior


def _accuracy(counts: Counts) -> Counts:
    shares: Counts = np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1))
    return shares


def _kappa(counts: Counts) -> Counts:
    """Return weighted kappa with equal weights for all disagreements."""
    return _weighted_kappa(counts, 1.0 - np.eye(counts.shape[-1]))


def _weighted_kappa(counts: Counts, distances: Counts) -> Counts:
    """Return 1 - observed / expected distance, float64[...]; NaN where the expected distance is 0."""
    n = counts.sum(axis=(-2, -1))
    observed = (counts * distances).sum(axis=(-2, -1)) / n
    margins = counts.sum(axis=-1)[..., :, np.newaxis] * counts.sum(axis=-2)[..., np.newaxis, :]
    expected = (margins * distances).sum(axis=(-2, -1)) / (n * n)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa: Counts = np.where(expected > 0, 1 - observed / expected, np.nan)
    return kappa
