"""What ends the command from outside: Ctrl-C, the end of a terminal, that of a batch job or a container. All come as
signals, and are told to the main thread as a KeyboardInterrupt: see `runner.console.interruptible`.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import FrameType

ENDINGS = tuple(
    signal.Signals(getattr(signal, name)) for name in ("SIGINT", "SIGHUP", "SIGTERM") if hasattr(signal, name)
)

OF_TERMINALS = tuple(number for number in ENDINGS if number is not signal.SIGTERM)
"""Those that come to all processes of a terminal, whoever is to end them."""

_AT_ONCE_S = 1.0
_REPEATED_AFTER_S = 0.05


class Interrupt:
    """A handler: raises KeyboardInterrupt, once for signals that come at once. No `finally` of Python's is safe from
    one that is raised as it begins, as the second press of Ctrl-C would be.
    """

    def __init__(self) -> None:
        self._raised = float("-inf")

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Called by the interpreter."""
        if time.monotonic() - self._raised > _AT_ONCE_S:
            self._raised = time.monotonic()
            raise KeyboardInterrupt

    def repeat_lost(self) -> None:
        """Python drops an exception within a callback of its own, as when a module is imported: the interrupt would be
        lost, and the command go on. Raises it once more a moment later, from now on.
        """
        report = sys.unraisablehook

        def repeat(lost: "sys.UnraisableHookArgs") -> None:
            if lost.exc_type is not KeyboardInterrupt:
                report(lost)
                return
            self._raised = float("-inf")
            again = threading.Timer(_REPEATED_AFTER_S, os.kill, [os.getpid(), signal.SIGINT])
            again.daemon = True
            again.start()

        sys.unraisablehook = repeat


@contextmanager
def endings_deferred(kept_from_children: Collection[signal.Signals] = ()) -> Iterator[None]:
    """Signals that would end this process count at the end of the context: somebody knows of all that is started in it,
    and what is ended in it does end. What is ignored stays so.

    Processes that are started meanwhile never get those of `kept_from_children`: this one ends them.
    """
    came: list[int] = []
    handlers = _handlers() if threading.current_thread() is threading.main_thread() else {}  # others get no signals
    # Blocking alone would not do: where there are other threads, one of them would take the signal, and Python's
    # handler then interrupt this one. The mask is for what is started, which inherits it.
    for number in handlers:
        signal.signal(number, lambda number, _: came.append(number))
    can_block = kept_from_children and hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, kept_from_children) if can_block else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _handlers() -> dict[signal.Signals, "signal._HANDLER"]:
    """Those that can be put back, of signals that are not ignored."""
    handlers = {number: signal.getsignal(number) for number in ENDINGS}
    return {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
