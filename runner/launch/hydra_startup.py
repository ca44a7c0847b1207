"""Preparations of Hydra before it composes: loads its installed plugins, and skips objects that it never reads."""

import inspect
import os
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import hydra
from hydra._internal import defaults_list
from hydra._internal.defaults_list import Overrides
from hydra.core.config_store import ConfigStore
from hydra.core.default_element import InputDefault
from omegaconf import DictConfig

from runner.console.private_shortcuts import HYDRA, may_use_private_parts

BASE_VERSION = {"version_base": "1.3"} if hydra.__version__.startswith("1.3.") else {}
"""Argument that chooses the behaviour of Hydra 1.3. Hydra 1.4 behaves that way, and warns about the argument."""

REPLACE = {"replace": True} if "replace" in inspect.signature(ConfigStore.store).parameters else {}
"""Argument that lets Hydra 1.4 register a node again, as Hydra 1.3 does without it."""

_NAME = "hydra_plugins"

_interpolation_map = getattr(defaults_list, "_create_interpolation_map", None)
"""Hydra's function that creates the map; None in Hydra 1.4, which creates it only where it is needed."""


def load_installed_plugins() -> None:
    """Load the package `hydra_plugins` as installed, unless it is loaded already. It is empty without plugins.

    Hydra imports everything in `hydra_plugins` on the path. We exclude the working directory, which may contain
    unrelated files.
    """
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


def skip_unused_maps() -> None:
    """Make Hydra create interpolation maps only where they are needed.

    For each file, Hydra 1.3 creates a configuration of all options chosen so far, for interpolations such as `llm:
    ${language}` in the file's list of defaults. We create it only if the list has interpolations. This speeds up
    compositions by a third.
    """
    if _interpolation_map and may_use_private_parts(HYDRA):
        defaults_list._create_interpolation_map = _map_where_needed


def _map_where_needed(overrides: Overrides, defaults: Sequence[InputDefault], self_added: bool) -> DictConfig | None:
    assert _interpolation_map is not None
    if any(not default.is_self() and default.is_interpolation() for default in defaults):
        needed: DictConfig | None = _interpolation_map(overrides, defaults, self_added)
        return needed
    return None
