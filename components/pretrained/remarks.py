"""Remarks of packages to their developers, which our users cannot act on."""

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_USELESS = re.compile(r"is deprecated")


@contextmanager
def without_remarks() -> Iterator[None]:
    """Hide deprecation warnings within the context, which concern calls between packages. Other messages are shown."""
    handlers = logging.getLogger("transformers").handlers
    for handler in handlers:
        handler.addFilter(_is_useful)
    try:
        with warnings.catch_warnings():
            for category in (FutureWarning, DeprecationWarning, PendingDeprecationWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_useful)


def _is_useful(record: logging.LogRecord) -> bool:
    return not _USELESS.search(record.getMessage())
