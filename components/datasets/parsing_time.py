"""A limit on the time that a parser may take for one page."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from components.errors import DataError

MAX_PAGE_S = 60.0
_REPEATED_EVERY_S = 1.0
"""Seconds before the error is raised again, because a parser may swallow it."""


@contextmanager
def limit_parsing_time(location: str) -> Iterator[None]:
    """Raise DataError once the block has used a minute of CPU time. The error names `location`.

    There is no limit outside the main thread, or on systems without interval timers (Windows).
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise timeout_error(location)

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_PAGE_S, _REPEATED_EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def timeout_error(location: str) -> DataError:
    """Return the error for a page that takes too long."""
    return DataError(
        f"{location}: parsing took more than {MAX_PAGE_S:g} s. Repair the file, convert it to text, or remove it."
    )
