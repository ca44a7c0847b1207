"""Logs, warnings and tracebacks of a command without secrets: those of other packages, too, reach the terminal."""

import logging
import sys
import threading
import traceback
import warnings
from types import TracebackType
from typing import Any

from components.secrets.mask import masked


def mask_output() -> None:
    """Hide secrets in all that logging, warnings and uncaught exceptions write from now on, in this process and in
    those that are forked from it. A second call changes nothing.
    """
    if isinstance(logging.getLogRecordFactory(), _MaskedRecords):
        return
    logging.setLogRecordFactory(_MaskedRecords())
    sys.excepthook = _show
    threading.excepthook = _show_in_thread
    warnings.formatwarning = _MaskedWarnings()


class _MaskedRecords:
    """Makes log records whose message is complete and masked, whatever handler writes it."""

    def __init__(self) -> None:
        self._make = logging.getLogRecordFactory()

    def __call__(self, *arguments: Any, **named: Any) -> logging.LogRecord:
        record = self._make(*arguments, **named)
        try:
            said = record.getMessage()
        except (TypeError, ValueError):  # its arguments do not fit: logging says so when it writes the record
            return record
        safe = masked(said)
        if safe != said:
            record.msg, record.args = safe, ()
        if record.exc_info and record.exc_info[0]:
            record.exc_text = masked("".join(traceback.format_exception(*record.exc_info))).rstrip("\n")
        return record


class _MaskedWarnings:
    def __init__(self) -> None:
        self._format: Any = warnings.formatwarning

    def __call__(self, *arguments: Any, **named: Any) -> str:
        return masked(self._format(*arguments, **named))


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(masked("".join(traceback.format_exception(kind, error, trace))))


def _show_in_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_type is not SystemExit and arguments.exc_value is not None:
        _show(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
