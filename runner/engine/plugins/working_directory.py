"""Processes that libraries start import nothing from the working directory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def without_working_directory() -> Iterator[None]:
    """Let Python processes that start within this context keep the working directory off their path.

    Otherwise `python -m` and `python -c` look there first, for modules of the standard library too. Workers get the
    path of this process afterwards, so packages that the user named are found.
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
