"""Runs work in a separate process, so that its peak memory is its own."""

import multiprocessing
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

_KIB_PER_GIB = 1 << 20


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What the work returned, and the peak resident memory of its process."""

    value: T
    peak_gib: float


def in_child(work: Callable[..., T], *arguments: object) -> Outcome[T]:
    """Runs `work(*arguments)` in a fresh process; both must be picklable. Raises what it raises."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, work, *arguments).result()


def gib(max_rss: int) -> float:
    """Linux counts `ru_maxrss` in KiB."""
    return max_rss / _KIB_PER_GIB


def _measured(work: Callable[..., T], *arguments: object) -> Outcome[T]:
    value = work(*arguments)
    return Outcome(value, gib(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
