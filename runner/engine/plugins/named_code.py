"""Classes in packages of `run.plugins` that a configuration names for Hydra."""

from collections.abc import Iterator
from importlib import import_module

from components.json_value import Json
from components.user_code.calls import format_exception
from runner.engine.plugins.plugin_loading import ensure_loaded


def top_package(target: Json) -> str:
    """Return the top-level package of a dotted path. "" for anything else."""
    return target.partition(".")[0] if isinstance(target, str) and "." in target else ""


def remedy(target: Json) -> str:
    """Return the end of an error message about a class of an unknown package, with the advice to name the package."""
    return f". For your own code name its package: run.plugins=[{top_package(target) or 'my_package'}]"


def class_errors(target: str, place: str, *bases: type) -> Iterator[str]:
    """Import a class of a package in `run.plugins`. Yields a message if that fails or the class is not derived from
    `bases`.
    """
    ensure_loaded([target])
    module, _, name = target.rpartition(".")
    expected = " or ".join(f"{base.__module__}.{base.__qualname__}" for base in bases)
    try:
        attribute = getattr(import_module(module), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything
        yield f"{place}: got {target!r}, which cannot be imported ({format_exception(error)})"
        return
    if not (isinstance(attribute, type) and issubclass(attribute, bases)):
        yield f"{place}: got {target!r}, expected a subclass of {expected}"
