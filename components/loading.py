"""Objects that a process loads once and keeps in memory, such as packages, vocabularies, models and cached results.

Loading time is measured so that it can be left out of the time per question: a deployed pipeline has everything loaded.
"""

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _LoadingTime(threading.local):
    seconds: float = 0.0
    depth: int = 0


_time = _LoadingTime()


@contextmanager
def loading() -> Iterator[None]:
    """Count the time inside the block as loading. Nested blocks are counted once."""
    started = time.perf_counter()
    _time.depth += 1
    try:
        yield
    finally:
        _time.depth -= 1
        if not _time.depth:
            _time.seconds += time.perf_counter() - started


def loading_seconds() -> float:
    """Return the seconds that this thread has spent loading so far."""
    return _time.seconds


def cache_slow_loader(load: Callable[P, T]) -> Callable[P, T]:
    """Cache a slow loader as `functools.cache` does, and count its time as loading."""

    @functools.wraps(load)
    def timed(*args: P.args, **kwargs: P.kwargs) -> T:
        with loading():
            return load(*args, **kwargs)

    return functools.cache(timed)  # type: ignore[return-value]  # `timed` has the parameters of `load`
