"""Errors that name the component's class when a component breaks its contract."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from components.errors import ComponentError, RagGridError
from runner.engine.source_code import is_ours


def class_name(cls: type) -> str:
    """Return the dotted path of a class, as users import it."""
    return f"{cls.__module__}.{cls.__qualname__}"


def contract_error(component: object, problem: str, remedy: str = "Fix the class") -> ComponentError:
    """Return an error that names the class of a component, the problem, and the remedy."""
    return ComponentError(f"{class_name(type(component))}: {problem.removesuffix('.')}. {remedy}")


@contextmanager
def name_class_in_errors(
    component: object, failure: str, remedy: str, passing: type[Exception] | tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn an error of a user's class into a ComponentError with the class, the `failure` and the line that raised.

    This project's exceptions, exceptions of the types in `passing`, and all exceptions of this project's classes pass
    unchanged.
    """
    try:
        yield
    except RagGridError:
        raise
    except Exception as error:
        if is_ours(type(component)) or isinstance(error, passing):
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__}: {error}; {frame.filename}, line {frame.lineno}"
        raise contract_error(component, f"{failure} ({cause})", remedy) from error
