"""Partial pooling of the matrix fields of topics x tasks.

A matrix field with few samples borrows from its topic, its task and all matrix fields. Its value is modelled as mean +
topic + task + residual, each with a separate variance. The measurement error of a matrix field shrinks with its number
of clusters. The estimate of a matrix field is its raw value shrunk towards the prediction from its topic and task. The
shrinkage is stronger if the matrix field has few samples, and if topics, tasks and matrix fields are similar.
Source: Efron & Morris 1975, "Data analysis using Stein's estimator"; Henderson 1975 (the equations); Gelman & Hill
2007, chapter 12; Chung, Rabe-Hesketh et al. 2013, "A nondegenerate penalized likelihood estimator for variance
parameters in multilevel models".
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Places = NDArray[np.int64]

_MIN_FIELDS = 6
_MIN_DEGREES = 5
"""Minimum degrees of freedom for the variance between the clusters of a matrix field."""

_ROUNDING = 1e-9
"""Larger than every rounding error of a standard deviation, relative to the values."""

_N_STEPS = 25
_MAX_STEP = 2.0
_DONE = 0.1
"""Steps change the log variances. Iteration stops once no log variance changes by more than a tenth."""


class Fields(NamedTuple):
    """Matrix fields that have a value, as columns [n_fields].

    `topic` and `task` are numbers (0, 1, ...). `value` is the raw value, and `error` its standard error, NaN if
    unknown. `n_effective` and `n_clusters` count clusters.
    """

    topic: Places
    task: Places
    value: Values
    error: Values
    n_effective: Values
    n_clusters: Values


class PooledEstimates(NamedTuple):
    """Estimates of the matrix fields with their standard errors, float64[n_fields]."""

    value: Values
    error: Values


class _System(NamedTuple):
    """Henderson's equations for given variances, with their solution.

    `effects` are mean, topics and tasks. `inverse` is the inverse of the coefficients. `information` is the information
    of the matrix fields about the effects, and `squares` the same with squared weights.
    """

    weight: Values
    inverse: Values
    information: Values
    squares: Values
    effects: Values


def pool_fields(fields: Fields) -> PooledEstimates | None:
    """Return the pooled estimates of the matrix fields, or None if there are too few data.

    The data are too few with fewer than two topics, two tasks or six matrix fields, with too few matrix fields of
    several clusters, or without variance within matrix fields.
    """
    noise = _noise(fields)
    n_topics, n_tasks = len(np.unique(fields.topic)), len(np.unique(fields.task))
    if noise is None or n_topics < 2 or n_tasks < 2 or len(fields.value) < _MIN_FIELDS:
        return None
    variances = _variances(fields, noise)
    system = _solve(fields, noise, variances)
    signal = variances[2] * system.weight  # the share of a matrix field's deviation that is not noise
    expected = _expected_values(fields, system.effects)
    value = expected + signal * (fields.value - expected)
    variance = signal * noise + (1 - signal) ** 2 * _expected_variance(fields, system.inverse)
    return PooledEstimates(value, np.sqrt(variance))


def _noise(fields: Fields) -> Values | None:
    """Return the variance of the raw value of every matrix field, None if it is unknown, 0 or a rounding error.

    The variance between clusters is assumed to be equal in all matrix fields. With rounding errors of a constant value,
    such as 0.1, the equations would be singular.
    """
    degrees = np.where(np.isfinite(fields.error), fields.n_clusters - 1, 0.0)
    if degrees.sum() < _MIN_DEGREES:
        return None
    variances = np.where(degrees > 0, fields.error**2 * fields.n_effective, 0.0)
    between = (degrees * variances).sum() / degrees.sum()
    noise: Values = between / fields.n_effective
    return noise if np.sqrt(between) > _ROUNDING * np.abs(fields.value).max() else None


def _variances(fields: Fields, noise: Values) -> Values:
    """Return the variances of topics, tasks and residuals by restricted maximum likelihood.

    Fisher scoring works on logarithms. A penalty keeps the variances from 0, which estimates from few levels would
    otherwise often reach.
    """
    logs = np.full(3, np.log(max(float(np.var(fields.value)), float(noise.mean())) / 4))
    for _ in range(_N_STEPS):
        variances = np.exp(logs)
        score, information = _score(fields, _solve(fields, noise, variances))
        gradient = variances * score + 0.5
        curvature = variances[:, np.newaxis] * information * variances + 0.25 * np.eye(3)
        step = np.clip(np.linalg.solve(curvature, gradient), -_MAX_STEP, _MAX_STEP)
        logs = logs + step
        if np.abs(step).max() < _DONE:
            break
    estimates: Values = np.exp(logs)
    return estimates


def _solve(fields: Fields, noise: Values, variances: Values) -> _System:
    weight = 1 / (variances[2] + noise)
    information = _products(fields, weight)
    n_topics, n_tasks = fields.topic.max() + 1, fields.task.max() + 1
    prior = np.concatenate([[0.0], np.full(n_topics, 1 / variances[0]), np.full(n_tasks, 1 / variances[1])])
    inverse: Values = np.linalg.inv(information + np.diag(prior)).astype(np.float64)
    effects = inverse @ _sums(fields, weight * fields.value)
    return _System(weight, inverse, information, _products(fields, weight**2), effects)


def _score(fields: Fields, system: _System) -> tuple[Values, Values]:
    """Return the derivative of the restricted log likelihood by the three variances, and its expected information.

    With P the projection that removes the effects, it needs y'P V P y, tr(P V) and tr(P V P W) for V and W of topics,
    tasks and residuals. All follow from matrices as small as the number of effects.
    """
    weight, inverse, information, squares, effects = system
    n_topics = fields.topic.max() + 1
    parts = (slice(1, 1 + n_topics), slice(1 + n_topics, len(effects)))
    residual = weight * (fields.value - _expected_values(fields, effects))  # P y
    sums = _sums(fields, residual)
    remainder = np.eye(len(effects)) - inverse @ information
    once, twice = information @ remainder, remainder.T @ squares @ remainder  # Z'P Z and Z'P P Z
    cubes = _products(fields, weight**3)
    within = inverse @ squares
    trace = weight.sum() - np.trace(within)
    trace_of_square = (weight**2).sum() - 2 * np.trace(inverse @ cubes) + (within * within.T).sum()
    quadratic = np.array([*((sums[part] ** 2).sum() for part in parts), (residual**2).sum()])
    traces = np.array([*(np.trace(once[part, part]) for part in parts), trace])
    crossed = np.empty((3, 3))
    for i, part in enumerate(parts):
        crossed[i, 2] = crossed[2, i] = np.trace(twice[part, part])
        for j, other in enumerate(parts):
            crossed[i, j] = (once[part, other] ** 2).sum()
    crossed[2, 2] = trace_of_square
    return (quadratic - traces) / 2, crossed / 2


def _products(fields: Fields, weight: Values) -> Values:
    """Return Z' diag(weight) Z of the incidence Z of mean, topics and tasks: float64[n_effects, n_effects]."""
    n_topics, n_tasks = fields.topic.max() + 1, fields.task.max() + 1
    crossed = np.bincount(fields.topic * n_tasks + fields.task, weight, n_topics * n_tasks).reshape(n_topics, n_tasks)
    topic_sums, task_sums = crossed.sum(axis=1), crossed.sum(axis=0)
    topics, tasks = slice(1, 1 + n_topics), slice(1 + n_topics, None)
    products = np.diag(np.concatenate([[weight.sum()], topic_sums, task_sums]))
    products[0, topics] = products[topics, 0] = topic_sums
    products[0, tasks] = products[tasks, 0] = task_sums
    products[topics, tasks], products[tasks, topics] = crossed, crossed.T
    return products


def _sums(fields: Fields, values: Values) -> Values:
    """Return Z' times the values: float64[n_effects]."""
    n_topics, n_tasks = fields.topic.max() + 1, fields.task.max() + 1
    topic_sums, task_sums = np.bincount(fields.topic, values, n_topics), np.bincount(fields.task, values, n_tasks)
    return np.concatenate([[values.sum()], topic_sums, task_sums])


def _expected_values(fields: Fields, effects: Values) -> Values:
    """Return mean + topic + task of every matrix field."""
    n_topics = fields.topic.max() + 1
    sums: Values = effects[0] + effects[1 + fields.topic] + effects[1 + n_topics + fields.task]
    return sums


def _expected_variance(fields: Fields, inverse: Values) -> Values:
    """Return the variance of mean + topic + task of every matrix field, float64[n_fields]."""
    n_topics = fields.topic.max() + 1
    places = np.stack([np.zeros_like(fields.topic), 1 + fields.topic, 1 + n_topics + fields.task], axis=1)
    variance: Values = inverse[places[:, :, np.newaxis], places[:, np.newaxis, :]].sum(axis=(1, 2))
    return variance
