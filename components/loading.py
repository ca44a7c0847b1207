"""What a process loads once and keeps in memory, such as packages, vocabularies, models and kept results; and how long
that takes: whoever runs a pipeline has it loaded, so it is no part of the time of a question.
"""

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _OfThread(threading.local):
    seconds: float = 0.0
    depth: int = 0


_own = _OfThread()


@contextmanager
def loading() -> Iterator[None]:
    """Counts the time within as loading; what is loaded on the way is counted once."""
    started = time.perf_counter()
    _own.depth += 1
    try:
        yield
    finally:
        _own.depth -= 1
        if not _own.depth:
            _own.seconds += time.perf_counter() - started


def seconds_of_loading() -> float:
    """Of all that this thread has loaded so far."""
    return _own.seconds


def loaded_once(load: Callable[P, T]) -> Callable[P, T]:
    """`functools.cache` for what takes a while to load."""

    @functools.wraps(load)
    def timed(*args: P.args, **kwargs: P.kwargs) -> T:
        with loading():
            return load(*args, **kwargs)

    return functools.cache(timed)  # type: ignore[return-value]  # it takes what `load` takes
