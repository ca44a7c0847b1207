"""Models stay in memory while stages need them: loaded once per process, and released when others are needed."""

import functools
import gc
import sys
import threading
from collections.abc import Callable, Collection
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_loaded: dict[tuple[object, ...], object] = {}
_lock = threading.RLock()


def load_once(load: Callable[P, T]) -> Callable[P, T]:
    """Keeps what `load` returns, by its arguments, of which the first two are a model and its revision. Arguments are
    hashable. Like `functools.cache`, but `release_all_but` makes room.
    """

    @functools.wraps(load)
    def loaded(*args: P.args, **kwargs: P.kwargs) -> T:
        key = (args[:2], load, args[2:], tuple(kwargs.items()))
        with _lock:  # two threads would load it twice
            if key not in _loaded:
                _loaded[key] = load(*args, **kwargs)
            found: T = _loaded[key]  # type: ignore[assignment]  # what this very function put there
            return found

    return loaded


def release_all_but(needed: Collection[tuple[str, str]]) -> None:
    """Forgets all models that are not among `needed`, (model, revision) each, and hands their memory back."""
    with _lock:
        unneeded = [key for key in _loaded if key[0] not in needed]
        for key in unneeded:
            del _loaded[key]
    if unneeded:
        gc.collect()  # modules of torch refer to one another
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
