"""Loads installed plugins of Hydra.

Hydra imports everything in `hydra_plugins` on the path. We exclude the working directory, which may contain unrelated
files.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

_NAME = "hydra_plugins"


def load_installed_plugins() -> None:
    """Load the package `hydra_plugins` as installed, empty without plugins, unless it is loaded already."""
    if _NAME not in sys.modules:
        sys.modules[_NAME] = _load_package()


def _load_package() -> ModuleType:
    spec = PathFinder.find_spec(_NAME, [place for place in sys.path if not _is_here(place)])
    module = ModuleType(_NAME) if spec is None else module_from_spec(spec)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module)
    # A list, because the path of a namespace package grows with `sys.path`.
    module.__path__ = list(spec.submodule_search_locations or ()) if spec else []
    return module


def _is_here(place: str) -> bool:
    try:
        return Path(place or os.curdir).samefile(os.curdir)
    except OSError:  # one of the folders was deleted
        return False
