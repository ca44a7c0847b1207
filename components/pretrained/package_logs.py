"""Log messages of packages: hiding deprecation warnings, and noting weights that transformers reports as missing."""

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_USELESS = re.compile(r"is deprecated")


@contextmanager
def hide_deprecation_warnings() -> Iterator[None]:
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


_MISSING = re.compile(r"^(\S+) +\| MISSING", re.MULTILINE)
_UNUSED = ("pooler.",)
"""Prefixes of weights that a bare encoder does not use: vectors come from the tokens of its last layer. The pooler of a
classifier has a longer prefix, and counts."""


class _Report(logging.Filter):
    """A filter that reads transformers' load reports and hides them from the terminal."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self.missing: list[str] = []
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "LOAD REPORT" not in message:
            return record.levelno >= self._level
        self.missing += [name for name in _MISSING.findall(message) if not name.startswith(_UNUSED)]
        return False


@contextmanager
def collect_missing_weights() -> Iterator[list[str]]:
    """Yield a list that collects the weights missing in the files of models loaded in the context."""
    log = logging.getLogger("transformers.modeling_utils")
    own_level, report = log.level, _Report(log.getEffectiveLevel())
    log.addFilter(report)
    # The environment may have silenced the report, so we lower the level. At WARNING itself, transformers would also
    # report for every model which layers it does not share among GPUs.
    log.setLevel(logging.WARNING - 1)
    try:
        yield report.missing
    finally:
        log.removeFilter(report)
        log.setLevel(own_level)
