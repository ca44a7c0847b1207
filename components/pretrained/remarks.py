"""What the packages that load models tell their developers, which a user of ours can do nothing about."""

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_OF_NO_USE = re.compile(r"is deprecated")


@contextmanager
def without_remarks() -> Iterator[None]:
    """Keeps from the terminal what is deprecated: one package calls another as it should no longer be called. All else
    that they say is shown.
    """
    handlers = logging.getLogger("transformers").handlers
    for handler in handlers:
        handler.addFilter(_is_of_use)
    try:
        with warnings.catch_warnings():
            for category in (FutureWarning, DeprecationWarning, PendingDeprecationWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_of_use)


def _is_of_use(record: logging.LogRecord) -> bool:
    return not _OF_NO_USE.search(record.getMessage())
