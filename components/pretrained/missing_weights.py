"""Weights that a model's files lack: transformers fills them with random numbers, and says so in its log alone."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

_MISSING = re.compile(r"^(\S+) +\| MISSING", re.MULTILINE)
_UNUSED = ("pooler.",)
"""Of a bare encoder: vectors are made of its last layer's tokens. A classifier's pooler has a prefix, and counts."""


class _Report(logging.Filter):
    """Reads transformers' reports of what was loaded, and keeps them from the terminal."""

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
def noting_missing_weights() -> Iterator[list[str]]:
    """Yields a list of the weights that models loaded within the context were not given by their files."""
    log = logging.getLogger("transformers.modeling_utils")
    own_level, report = log.level, _Report(log.getEffectiveLevel())
    log.addFilter(report)
    # A report that the environment silences would be missed. With a level of WARNING itself, transformers also says of
    # every model which of its layers it would not share among GPUs.
    log.setLevel(logging.WARNING - 1)
    try:
        yield report.missing
    finally:
        log.removeFilter(report)
        log.setLevel(own_level)
