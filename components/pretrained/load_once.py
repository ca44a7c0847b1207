"""Models in memory: loaded once per process, and released when other models are loaded."""

import functools
import gc
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from typing import ParamSpec, TypeVar

from components.errors import ComponentError
from components.loading import loading
from components.pretrained.model_folder import Stamps, read_folder_stamps

P = ParamSpec("P")
T = TypeVar("T")

Model = tuple[str, str]
"""A model and its revision."""


class _LoadedModels:
    """The models that this process holds."""

    lock = threading.RLock()
    by_arguments: dict[tuple[object, ...], tuple[object, object]] = {}  # noqa: RUF012 - shared in the process
    """With the stamps of their folders when they were loaded."""
    needed: frozenset[Model] | None = None
    """Models that are needed; None if unknown, in which case all models stay."""


def load_once(load: Callable[P, T]) -> Callable[P, T]:
    """Cache the result of `load` by its arguments, which must be hashable. The first two are a model and its revision.

    A model in a folder whose files changed is loaded again: a notebook may train it between two runs. Unlike
    `functools.cache`, it releases models that `declare_needed` did not name before it loads another one.
    """

    @functools.wraps(load)
    def loaded(*args: P.args, **kwargs: P.kwargs) -> T:
        key = (args[:2], load, args[2:], tuple(kwargs.items()))
        stamps = _read_stamps(args[0], *(getattr(argument, "adapter", "") for argument in args[2:]))
        with _LoadedModels.lock:  # without the lock, two threads would load it twice
            present = _LoadedModels.by_arguments.get(key)
            if present is None or stamps not in (None, present[0]):
                _LoadedModels.by_arguments.pop(key, None)
                if _LoadedModels.needed is not None:
                    release_all_but(_LoadedModels.needed)
                with loading():
                    _LoadedModels.by_arguments[key] = stamps, load(*args, **kwargs)
            model: T = _LoadedModels.by_arguments[key][1]  # type: ignore[assignment]  # stored by this function
            return model

    return loaded


def _read_stamps(*folders: object) -> list[Stamps] | None:
    """Return the stamps of all files; None if a folder was deleted. Models loaded from it stay, others fail to load."""
    try:
        return [read_folder_stamps(str(folder or "")) for folder in folders]
    except ComponentError:
        return None


def declare_needed(models: Iterable[Model]) -> None:
    """Name the models that the following work uses. Others stay in memory until a new model is loaded."""
    _LoadedModels.needed = frozenset(models)


def keep_all_models() -> None:
    """Keep all models from now on, whatever `declare_needed` names, for callers that use all of them repeatedly."""
    _LoadedModels.needed = None


def release_all_but(needed: Collection[Model]) -> None:
    """Release all models except the needed ones, and free their memory."""
    with _LoadedModels.lock:
        unneeded = [key for key in _LoadedModels.by_arguments if key[0] not in needed]
        for key in unneeded:
            del _LoadedModels.by_arguments[key]
    if unneeded:
        gc.collect()  # torch modules have reference cycles
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
