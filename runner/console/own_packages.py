"""Finds our own packages before what a user's working directory holds: a folder `conf/` is common, and `python -m` puts
the working directory first. Where it is last, it adds nothing to installed packages without an `__init__.py` either.

`analysis` is not among them: nothing here imports it, and a user's package of that name stays theirs.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
NAMES = frozenset({"components", "conf", "runner", "sweeps"})


class OwnPackages(MetaPathFinder):
    """Answers for `NAMES` alone, with the packages beside this one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for what is not ours: the other finders are asked then."""
        return PathFinder.find_spec(fullname, [str(ROOT)]) if fullname in NAMES else None


class InstalledNamespaces(MetaPathFinder):
    """Answers for packages without an `__init__.py`, such as `google`, of which the working directory has a folder too.
    Python takes one with an `__init__.py`, wherever on the path that is.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None where the working directory is not last, or where no such package is installed."""
        if path is not None or not sys.path or not _is_here(sys.path[-1]):
            return None
        if not Path(sys.path[-1], fullname).is_dir():
            return None
        spec = PathFinder.find_spec(fullname, sys.path[:-1])
        if spec is None or spec.loader is not None or spec.submodule_search_locations is None:
            return None
        spec.submodule_search_locations = list(spec.submodule_search_locations)  # that of a namespace grows
        return spec


def _is_here(place: str) -> bool:
    try:
        return place == str(Path.cwd())
    except FileNotFoundError:  # it was removed
        return False


def find_own_packages_first() -> None:
    """From now on. Raises ImportError if another package of one of the names is loaded already."""
    for name in sorted(NAMES & sys.modules.keys()):
        file = getattr(sys.modules[name], "__file__", None)
        if file is None or Path(file).resolve().parent != ROOT / name:
            raise ImportError(
                f"{name} is loaded from {file or 'a folder without __init__.py'}, and rag-grid has a package of that "
                "name: import runner before it, or rename yours"
            )
    if not any(isinstance(finder, OwnPackages) for finder in sys.meta_path):
        sys.meta_path[:0] = [OwnPackages(), InstalledNamespaces()]
