"""How well two raters agree: the share of equal grades, and Cohen's kappa, each with a bootstrap interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Agreement:
    """`confusion` int64[n_classes, n_classes] counts (people's class, judge's class) over `classes`.

    `kappa` is None where it is undefined: both raters gave the same single class throughout. Intervals are (low,
    high).
    """

    n: int
    accuracy: float
    accuracy_interval: tuple[float, float]
    kappa: float | None
    kappa_interval: tuple[float, float] | None
    classes: tuple[str, ...]
    confusion: NDArray[np.int64]


def agree(labels: Sequence[str], judged: Sequence[str], seed: int = 0) -> Agreement:
    """Agreement of two raters on the same items (at least one). Items are resampled; resamples in which kappa is
    undefined are left out of its interval.

    Source: Cohen 1960, "A coefficient of agreement for nominal scales". Unweighted: all disagreements count the same.
    """
    classes = tuple(sorted({*labels, *judged}))
    place = {name: i for i, name in enumerate(classes)}
    confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(confusion, ([place[name] for name in labels], [place[name] for name in judged]), 1)
    n = len(labels)
    # Drawing n items with replacement is drawing the counts of the cells from a multinomial distribution.
    random = np.random.default_rng((seed, n))
    resampled = random.multinomial(n, confusion.ravel() / n, size=N_RESAMPLES).reshape(-1, *confusion.shape)
    kappa = float(_kappa(confusion))
    kappas = _kappa(resampled)
    return Agreement(
        n,
        float(_accuracy(confusion)),
        _interval(_accuracy(resampled)),
        None if np.isnan(kappa) else kappa,
        None if np.isnan(kappa) else _interval(kappas),
        classes,
        confusion,
    )


def _accuracy(confusion: NDArray[np.int64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.trace(confusion, axis1=-2, axis2=-1) / confusion.sum(axis=(-2, -1))
    return shares


def _kappa(confusion: NDArray[np.int64]) -> NDArray[np.float64]:
    """(observed - expected) / (1 - expected) agreement; NaN where the expected agreement is 1."""
    n = confusion.sum(axis=(-2, -1))
    expected = (confusion.sum(axis=-1) * confusion.sum(axis=-2)).sum(axis=-1) / (n * n)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa: NDArray[np.float64] = np.where(expected == 1, np.nan, (_accuracy(confusion) - expected) / (1 - expected))
    return kappa


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(values, [tail, 1 - tail])
    return float(low), float(high)
