"""Work in a separate process, so that its peak memory can be measured."""

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
    """The result of the work, and the peak resident memory of its process."""

    value: T
    peak_gib: float


def in_child(work: Callable[..., T], *arguments: object) -> Outcome[T]:
    """Run `work(*arguments)` in a fresh process; both must be picklable. Raises the exceptions of the work."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run_and_measure, work, *arguments).result()


def gib(max_rss: int) -> float:
    """Convert `ru_maxrss`, which Linux counts in KiB."""
    return max_rss / _KIB_PER_GIB


def _run_and_measure(work: Callable[..., T], *arguments: object) -> Outcome[T]:
    value = work(*arguments)
    return Outcome(value, gib(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
