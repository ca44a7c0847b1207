"""Errors that name the class of a component which breaks its contract."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from components.errors import ComponentError, RagGridError
from runner.engine.source_code import is_ours


def class_name(cls: type) -> str:
    """Return the name by which users import a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def broken_contract(component: object, mistake: str, remedy: str = "Mend the class") -> ComponentError:
    """Return an error with the class of a component, the mistake in it, and the remedy."""
    return ComponentError(f"{class_name(type(component))}: {mistake}. {remedy}")


@contextmanager
def named_errors(
    component: object, failure: str, remedy: str, passing: type[Exception] | tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn an error of a user's class into a ComponentError with the class, the `failure` and the line that raised.

    Lets through the project's own errors, errors of the types in `passing`, and all errors of our own classes.
    """
    try:
        yield
    except RagGridError:
        raise
    except Exception as error:
        if is_ours(type(component)) or isinstance(error, passing):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__}: {error}; {place.filename}, line {place.lineno}"
        raise broken_contract(component, f"{failure} ({cause})", remedy) from error
