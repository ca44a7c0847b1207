"""Resolves the places of configuration files without importing packages of others.

Hydra imports a package to read the files in it.
"""

import copy
from importlib.util import find_spec
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.errors import HydraException

_IMPORTING = ("pkg", "group")
"""Kinds of places that Hydra finds by an import."""

_KNOWN = frozenset({"conf", "sweeps", "runner", "hydra", "hydra_plugins"})
"""Packages that this command has imported anyway."""


def read_as_data(search_path: ConfigSearchPath) -> ConfigSearchPath:
    """Replace packages of others in the search path by their folders. Raises HydraException for an unknown package."""
    changed = copy.deepcopy(search_path)
    for element in changed.get_path():
        if element.path:
            element.path = _as_folder(element.path)
    return changed


def _as_folder(place: str) -> str:
    kind, _, name = place.partition("://")
    package, *below = name.replace("/", ".").strip(".").split(".")
    if kind not in _IMPORTING or package in _KNOWN:
        return place
    folders = [Path(folder, *below) for folder in _folders_of(package)]
    found = next((folder for folder in folders if folder.is_dir()), None)
    if found is None:
        raise HydraException(
            f"hydra.searchpath: got {place}, expected a package with configuration files that Python finds; a "
            "folder is given as file://FOLDER, or with --config-dir FOLDER"
        )
    return f"file://{found}"


def _folders_of(package: str) -> list[str]:
    """Return a package's folders, without importing it."""
    try:
        spec = find_spec(package) if package.isidentifier() else None
    except ValueError:  # a module that was created by hand has no spec
        return []
    return list(spec.submodule_search_locations or ()) if spec else []
