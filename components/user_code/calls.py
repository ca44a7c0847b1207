"""Base of components that call a function, a chain or an engine in the user's package."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from traceback import walk_tb
from typing import Any, ClassVar

from components.errors import ComponentError
from components.fields import runtime_only
from components.limits import too_small

Parameters = Mapping[str, bool | int | float | str]


@dataclass(frozen=True, kw_only=True)
class CallsUserCode:
    """Calls what a dotted path names, such as my_app.rag.answer or my_app.rag:answer, `concurrency` calls at a time in
    threads. The package must be in `run.plugins`.

    The code of the package is part of the keys of all replies. `revision` stands for what the code does not show, such
    as the state of an index or a prompt on a server. A call that takes longer than `timeout_s` fails. Its thread cannot
    be ended, and continues during later calls.
    """

    parameters: Parameters = field(hash=False)
    revision: str | int | float = ""
    timeout_s: float = runtime_only(600.0, "a reply that arrives too late is requested again")
    concurrency: int = runtime_only(1, "requests do not depend on each other")

    version: ClassVar[int] = 1
    path_field: ClassVar[str]
    """Name of the field with the dotted path."""

    @property
    def path(self) -> str:
        """Dotted path of the user's function, class or object."""
        return str(getattr(self, self.path_field))

    @property
    def code_class(self) -> type:
        """A class with the name and the module that the path names. It stands for the code there."""
        module, _, name = _to_dotted(self.path).rpartition(".")
        return type(name, (), {"__module__": module})

    @abstractmethod
    def problems(self) -> list[str]:
        """Import the object at the path, and return one message per error, such as "which cannot be imported"."""

    def check(self) -> list[str]:
        """Import the object at the path. Return one message per error in the fields and in the object."""
        problems = too_small(self, concurrency=1)
        if not self.timeout_s > 0:
            problems.append(f"timeout_s: got {self.timeout_s}, expected more than 0")
        return [*problems, *(f"{self.path_field}: got {self.path!r}, {problem}" for problem in self.problems())]


def import_object(path: str) -> Any:
    """Return the object at a dotted path. Raises ComponentError, which names the path, if it cannot be imported."""
    try:
        return _import(path)
    except _NotImported as error:
        raise ComponentError(f"{path}: cannot be imported ({error})") from error.__cause__


def import_problems(path: str, example: str) -> list[str]:
    """Return an error message if the path cannot be imported. `example` is a valid path, with the word for its kind."""
    if not _to_dotted(path).rpartition(".")[0]:
        return [f"expected the dotted path of {example}"]
    try:
        _import(path)
    except _NotImported as error:
        return [f"which cannot be imported ({error})"]
    return []


class _NotImported(Exception):
    """The object at a path cannot be imported. The message is the error of the import as one line."""


def _import(path: str) -> Any:
    module, _, name = _to_dotted(path).rpartition(".")
    try:
        return getattr(import_module(module), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may raise anything
        raise _NotImported(format_exception(error)) from error


def function_problems(
    function: object, first: str, optional: str, parameters: Parameters, group: str = "pipeline"
) -> list[str]:
    """Return one message per reason why `function(first, **parameters)` cannot be called. `first` is "" if there is no
    first argument.

    The function also gets `optional` if it has a parameter of that name. `group` is the configuration group with the
    parameters.
    """
    if not callable(function):
        return [f"which is a {type(function).__name__}, expected a function"]
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return ["which is asynchronous, expected a plain function. Wrap it with asyncio.run"]
    if optional and optional in parameters:
        return [f"whose parameter `{optional}` is set by the sweep. Remove it from {group}.parameters."]
    options: Mapping[str, Any] = {optional: None} if optional and has_parameter(function, optional) else {}
    try:
        inspect.signature(function).bind(*([first] if first else []), **options, **parameters)
    except ValueError:  # a compiled function may have no signature
        return []
    except TypeError as error:
        name = getattr(function, "__name__", "function")
        arguments = ", ".join([*([first] if first else []), *(f"{parameter}=..." for parameter in parameters)])
        return [f"which cannot be called as {name}({arguments}): {error}. See docs/own-pipeline.md"]
    return []


def has_parameter(function: Callable[..., object], name: str) -> bool:
    """Return True if the function has a parameter of this name."""
    try:
        return name in inspect.signature(function).parameters
    except ValueError:
        return False


def format_exception(error: BaseException) -> str:
    """Return the type and the message of an exception as one line."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:  # noqa: BLE001 - the message of a user's exception may fail too
        return type(error).__name__


def format_call_failure(error: BaseException, path: str) -> str:
    """Return `format_exception` with the last line that ran in the user's package: "KeyError at my_app.rag:31: 3"."""
    package = _to_dotted(path).split(".", 1)[0]
    lines = [
        f"{name}:{number}"
        for frame, number in walk_tb(error.__traceback__)
        if (name := str(frame.f_globals.get("__name__", ""))).split(".", 1)[0] == package
    ]
    kind, colon, message = format_exception(error).partition(":")
    return f"{kind} at {lines[-1]}{colon}{message}" if lines else f"{kind}{colon}{message}"


def _to_dotted(path: str) -> str:
    return path.replace(":", ".", 1)
