"""Strategies that propose cells of a space. They know no sweep: points go out, and scores come back.

A strategy is a generator. It yields points that do not depend on each other's scores, and receives their scores in the
same order. Equal seeds and scores give equal points. It ends when it has proposed every point of the space.
"""

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, prod
from random import Random
from typing import TYPE_CHECKING, Any

from components.errors import MissingExtraError
from runner.pipeline.search_settings import SpaceSearchSettings
from runner.pipeline.search_settings import Strategy as Name

if TYPE_CHECKING:  # Optuna is imported where it is used
    from optuna.distributions import BaseDistribution
    from optuna.study import Study

Point = tuple[int, ...]
"""The place of a value on each axis."""

Scores = tuple[float, ...]
"""Values of the objectives, larger ones better."""

Strategy = Generator[list[Point], list[Scores | None], None]
"""Receives None for a point that failed."""

_DRAWN_TOGETHER = 64
_MAX_VALUES = 8
"""Values of an ordered axis that `greedy` tries all at once. It narrows longer axes down."""

_WINDOW = 2
"""Values that `greedy` tries on each side of the best value of a long axis."""

_MAX_REPEATS = 5
"""Batches in a row with nothing new, after which `tpe` draws a point at random."""


@dataclass(frozen=True)
class AxisShape:
    """An axis as a strategy sees it: its number of values, whether they have an order, and whether they are models."""

    size: int
    is_ordered: bool = False
    is_model: bool = False


Shapes = Sequence[AxisShape]


def make_strategy(shapes: Shapes, settings: SpaceSearchSettings, n_objectives: int = 1) -> Strategy:
    """Return the strategy that the settings name. Raises MissingExtraError for TPE without Optuna."""
    strategies: dict[Name, Callable[[Shapes, int], Strategy]] = {
        Name.RANDOM: at_random,
        Name.GREEDY: greedy,
        Name.TPE: partial(tpe, batch=settings.batch, n_objectives=n_objectives),
    }
    if settings.strategy is Name.TPE:
        _optuna()  # a missing extra is reported before anything runs
    return strategies[settings.strategy](shapes, settings.seed)


def at_random(shapes: Shapes, seed: int) -> Strategy:
    """Draw points without repeats, all equally likely."""
    draws = _draws(shapes, _new_random(seed), set())
    while points := [point for _, point in zip(range(_DRAWN_TOGETHER), draws, strict=False)]:
        yield points


def _new_random(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - a draw, not a secret


def _draws(shapes: Shapes, random: Random, seen: set[Point]) -> Iterator[Point]:
    """Yield random points that are not in `seen`, and add them to it."""
    while len(seen) < prod(shape.size for shape in shapes):
        point = tuple(random.randrange(shape.size) for shape in shapes)
        if point not in seen:
            seen.add(point)
            yield point


def greedy(shapes: Shapes, seed: int) -> Strategy:
    """Begin at a random point. Take the best value of one axis after another, models first.

    Repeat this until no axis improves, then begin at another random point.
    Source: Orbach et al. 2025, "An Analysis of Hyper-Parameter Optimization Methods for Retrieval Augmented Generation"
    (arXiv 2505.03452), which visits each axis once.
    """
    order = sorted(range(len(shapes)), key=lambda axis: not shapes[axis].is_model)
    seen: set[Point] = set()
    for start in _draws(shapes, _new_random(seed), set()):
        if start in seen:
            continue
        best, value = start, _value((yield [start])[0])
        spacing = {axis: max(1, (shapes[axis].size - 1) // (2 * _WINDOW)) for axis in order}
        flat: set[int] = set()  # long axes whose values around the best one are no worse
        while True:
            before = best
            for axis in (axis for axis in order if axis not in flat):
                points = [(*best[:axis], index, *best[axis + 1 :]) for index in _places(shapes, axis, best, spacing)]
                seen.update(points)
                values = [_value(scores) for scores in (yield points)]
                if max(values) > value:
                    value = max(values)
                    best = points[values.index(value)]
                    flat.clear()
                elif _is_long(shapes[axis]) and _are_equal(points, values, axis, best, spacing[axis]):
                    flat.add(axis)
            narrowing = [axis for axis in order if _is_long(shapes[axis]) and axis not in flat and spacing[axis] > 1]
            if best == before and not narrowing:
                break
            spacing |= {axis: spacing[axis] // 2 for axis in narrowing}


def _are_equal(points: Sequence[Point], values: Sequence[float], axis: int, best: Point, spacing: int) -> bool:
    """Return True if the values next to the best one of an axis are equal to it."""
    nearby = {value for point, value in zip(points, values, strict=True) if abs(point[axis] - best[axis]) <= spacing}
    return len(nearby) == 1


def _is_long(shape: AxisShape) -> bool:
    return shape.is_ordered and shape.size > _MAX_VALUES


def _places(shapes: Shapes, axis: int, best: Point, spacing: dict[int, int]) -> list[int]:
    """Return the values of an axis to try: all of a short one, or some of a long one around the best."""
    size = shapes[axis].size
    if not _is_long(shapes[axis]):
        return list(range(size))
    steps = range(-_WINDOW, _WINDOW + 1)
    return sorted({min(max(best[axis] + step * spacing[axis], 0), size - 1) for step in steps})


def _value(scores: Scores | None) -> float:
    return -inf if scores is None else scores[0]


def tpe(shapes: Shapes, seed: int, *, batch: int, n_objectives: int) -> Strategy:
    """Propose points by Optuna's tree-structured Parzen estimator, over all axes together.

    A failure counts as the worst scores so far. Repeated points receive their score again. Points are drawn at random
    if nothing new was proposed for a while.
    """
    optuna = _optuna()
    study, distributions = _study(optuna, shapes, seed, n_objectives)
    seen: set[Point] = set()
    random, size = _new_random(seed), prod(shape.size for shape in shapes)
    worst: Scores | None = None
    n_repeats = 0
    while len(seen) < size:
        if n_repeats < _MAX_REPEATS:
            trials = [study.ask(distributions) for _ in range(batch)]
        else:
            point = next(_draws(shapes, random, set(seen)))
            study.enqueue_trial({str(axis): index for axis, index in enumerate(point)})
            trials = [study.ask(distributions)]
        points = [tuple(int(trial.params[str(axis)]) for axis in range(len(shapes))) for trial in trials]
        n_repeats = 0 if set(points) - seen else n_repeats + 1
        seen.update(points)
        all_scores = yield points
        for scores in all_scores:
            if scores is not None:
                worst = scores if worst is None else tuple(map(min, worst, scores))
        for trial, scores in zip(trials, all_scores, strict=True):
            reported = worst if scores is None else scores
            state = optuna.trial.TrialState.FAIL if reported is None else None
            study.tell(trial, None if reported is None else list(reported), state=state)


def _study(optuna: Any, shapes: Shapes, seed: int, n_objectives: int) -> tuple["Study", dict[str, "BaseDistribution"]]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
    study = optuna.create_study(sampler=sampler, directions=["maximize"] * n_objectives)
    distributions: dict[str, BaseDistribution] = {
        str(axis): optuna.distributions.IntDistribution(0, shape.size - 1)
        if shape.is_ordered
        else optuna.distributions.CategoricalDistribution(range(shape.size))
        for axis, shape in enumerate(shapes)
    }
    return study, distributions


def _optuna() -> Any:
    """Import Optuna, which no other run needs. Raises MissingExtraError if it is not installed."""
    try:
        import optuna

        return optuna
    except ModuleNotFoundError as error:
        raise MissingExtraError("optuna", "search", "search=tpe") from error
