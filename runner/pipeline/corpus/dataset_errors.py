"""Errors of a user's own data set class, which runs before any stage of a sweep."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from components.errors import ComponentError, RagGridError
from components.protocols import Dataset


@contextmanager
def named_errors(dataset: Dataset) -> Iterator[None]:
    """Turns errors of a data set class outside our packages into a ComponentError that names the class, and the line
    that raised. Lets OSError and our own errors through.
    """
    try:
        yield
    except (RagGridError, OSError):
        raise
    except Exception as error:
        kind = type(dataset)
        if kind.__module__.startswith("components."):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise ComponentError(
            f"{kind.__module__}.{kind.__qualname__}: the data set cannot be loaded or stored "
            f"({type(error).__name__}: {error}; {place.filename}, line {place.lineno}). "
            "Mend the class: its `load` returns a Benchmark"
        ) from error
