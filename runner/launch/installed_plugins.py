"""Hydra imports everything in `hydra_plugins`, wherever that is. The working directory does not count here: it may hold
somebody else's files.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

_NAME = "hydra_plugins"


def load_installed_plugins() -> None:
    """Loads the package `hydra_plugins` as it is installed, an empty one if no plugin is. Leaves a loaded one as is."""
    if _NAME not in sys.modules:
        sys.modules[_NAME] = _installed()


def _installed() -> ModuleType:
    spec = PathFinder.find_spec(_NAME, [place for place in sys.path if not _is_here(place)])
    module = ModuleType(_NAME) if spec is None else module_from_spec(spec)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module)
    # A list, for the path of a namespace grows with `sys.path`.
    module.__path__ = list(spec.submodule_search_locations or ()) if spec else []
    return module


def _is_here(place: str) -> bool:
    try:
        return Path(place or os.curdir).samefile(os.curdir)
    except OSError:  # one of them was removed
        return False
