"""Signals that end a command: Ctrl-C, a closed terminal, the end of a batch job or a container.

All of them raise KeyboardInterrupt in the main thread: see `runner.console.interruptible`.
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

TERMINAL_SIGNALS = tuple(number for number in ENDINGS if number is not signal.SIGTERM)
"""Signals that a terminal sends to all of its processes."""

_SAME_INTERRUPT_S = 1.0
_REPEATED_AFTER_S = 0.05


class Interrupt:
    """Signal handler that raises KeyboardInterrupt, once for signals in quick succession.

    A second interrupt, such as another Ctrl-C, could otherwise be raised at the start of a `finally` block, which then
    would not run.
    """

    def __init__(self) -> None:
        self._raised = float("-inf")

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, at most once a second. Python calls this on a signal."""
        if time.monotonic() - self._raised > _SAME_INTERRUPT_S:
            self._raised = time.monotonic()
            raise KeyboardInterrupt

    def repeat_lost(self) -> None:
        """Raise an interrupt again if Python dropped it because it arrived in a callback, as during an import.

        Otherwise the command would go on.
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
def unmask_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt instead of an error that masked it: the interrupted block failed while it cleaned up."""
    try:
        yield
    except Exception as error:
        before: BaseException | None = error
        while before is not None and not isinstance(before, KeyboardInterrupt):
            before = before.__context__
        if before is not None:
            raise KeyboardInterrupt from error
        raise


@contextmanager
def defer_ending_signals(blocked_in_children: Collection[signal.Signals] = ()) -> Iterator[None]:
    """Defer signals that would end this process to the end of the context.

    An interrupt therefore neither loses track of a process that is being started nor stops one from being ended.
    Ignored signals stay ignored. Processes started in the context never receive the signals in `blocked_in_children`,
    because this process ends them.
    """
    received: list[int] = []
    # other threads receive no signals
    handlers = _handlers() if threading.current_thread() is threading.main_thread() else {}
    # Blocking alone is not enough: another thread would take the signal, and Python's handler would then interrupt this
    # thread. Started processes inherit the mask.
    for number in handlers:
        signal.signal(number, lambda number, _: received.append(number))
    can_block = blocked_in_children and hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, blocked_in_children) if can_block else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


def _handlers() -> dict[signal.Signals, "signal._HANDLER"]:
    """Return the handlers that can be restored, of signals that are not ignored."""
    handlers = {number: signal.getsignal(number) for number in ENDINGS}
    return {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
