"""Masking of logs, warnings and tracebacks of a command, including the output of other packages."""

import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from components.secrets.mask import mask_text


def mask_output() -> None:
    """Mask everything that logging, warnings and uncaught exceptions write from now on, in this process and its forks.

    A second call has no effect.
    """
    if isinstance(logging.getLogRecordFactory(), _MaskedRecords):
        return
    logging.setLogRecordFactory(_MaskedRecords())
    sys.excepthook = _show
    threading.excepthook = _show_in_thread
    sys.unraisablehook = _MaskedIgnored()
    warnings.formatwarning = _MaskedWarnings()


class _MaskedRecords:
    """A factory of log records whose messages are complete and masked for every handler."""

    def __init__(self) -> None:
        self._make = logging.getLogRecordFactory()

    def __call__(self, *arguments: object, **named: object) -> logging.LogRecord:
        record = self._make(*arguments, **named)
        message = _message(record)
        safe = mask_text(message)
        if safe != message or record.args:
            record.msg, record.args = safe, ()
        if record.exc_info and record.exc_info[0]:
            record.exc_text = mask_text("".join(traceback.format_exception(*record.exc_info))).rstrip("\n")
        return record


def _message(record: logging.LogRecord) -> str:
    """Return the message of a record. If its arguments do not fit, logging would later print them unmasked."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - any package's `__str__` may raise
        with suppress(Exception):
            return f"{record.msg} (invalid logging call with arguments {record.args!r})"
        return "(a log line that cannot be shown)"


class _MaskedWarnings:
    def __init__(self) -> None:
        self._format: Callable[..., str] = warnings.formatwarning

    def __call__(self, *arguments: object, **named: object) -> str:
        return mask_text(self._format(*arguments, **named))


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(mask_text("".join(traceback.format_exception(kind, error, trace))))


def _show_in_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_type is not SystemExit and arguments.exc_value is not None:
        _show(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)


class _MaskedIgnored:
    """Shows an exception that Python cannot raise, for example in a `__del__`.

    The previous hook receives interrupts, because it may raise them again.
    """

    def __init__(self) -> None:
        self._before = sys.unraisablehook

    def __call__(self, ignored: "sys.UnraisableHookArgs") -> None:
        if ignored.exc_type is KeyboardInterrupt:
            self._before(ignored)
            return
        with suppress(Exception):  # repr() of the object may fail, and Python may be shutting down
            place = f"{ignored.err_msg or 'Exception ignored in'}: {ignored.object!r}\n"
            trace = traceback.format_exception(ignored.exc_type, ignored.exc_value, ignored.exc_traceback)
            sys.stderr.write(mask_text(place + "".join(trace)))
