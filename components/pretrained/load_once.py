"""Models stay in memory while they are needed: loaded once per process, and released when others are to be loaded."""

import functools
import gc
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from typing import ParamSpec, TypeVar

from components.loading import loading

P = ParamSpec("P")
T = TypeVar("T")

Model = tuple[str, str]
"""A model and its revision."""


class _Loaded:
    """What this process holds."""

    lock = threading.RLock()
    by_arguments: dict[tuple[object, ...], object] = {}  # noqa: RUF012 - one for the process
    needed: frozenset[Model] | None = None
    """None as long as nobody says what is needed: all models are then kept."""


def load_once(load: Callable[P, T]) -> Callable[P, T]:
    """Keeps what `load` returns by its arguments, which are hashable; the first two are a model and its revision. Like
    `functools.cache`, but before it loads another model it releases those that `say_needed` did not name.
    """

    @functools.wraps(load)
    def loaded(*args: P.args, **kwargs: P.kwargs) -> T:
        key = (args[:2], load, args[2:], tuple(kwargs.items()))
        with _Loaded.lock:  # two threads would load it twice
            if key not in _Loaded.by_arguments:
                if _Loaded.needed is not None:
                    release_all_but(_Loaded.needed)
                with loading():
                    _Loaded.by_arguments[key] = load(*args, **kwargs)
            found: T = _Loaded.by_arguments[key]  # type: ignore[assignment]  # what this very function put there
            return found

    return loaded


def say_needed(models: Iterable[Model]) -> None:
    """Which models what follows will use. Others stay until one is loaded that is not there yet."""
    _Loaded.needed = frozenset(models)


def keep_all() -> None:
    """From now on none is released, whatever was said to be needed before: for who answers one question after another
    with all of them.
    """
    _Loaded.needed = None


def release_all_but(needed: Collection[Model]) -> None:
    """Forgets all models that are not among the needed ones, and hands their memory back."""
    with _Loaded.lock:
        unneeded = [key for key in _Loaded.by_arguments if key[0] not in needed]
        for key in unneeded:
            del _Loaded.by_arguments[key]
    if unneeded:
        gc.collect()  # modules of torch refer to one another
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
