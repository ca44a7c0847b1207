"""Finds our own packages before packages of the same names in a user's working directory.

A folder `conf/` is common. Our commands take the working directory off the path, and put it at the end for packages
that a user names. There it does not extend installed namespace packages either. `analysis` is not included: no module
here imports it, so that a user's package of that name still works.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
NAMES = frozenset({"components", "conf", "runner", "sweeps"})
_is_command = False


class OwnPackages(MetaPathFinder):
    """Finds the packages in `NAMES` in the folder that contains `runner/`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of our package; None for other names, for which Python asks the other finders."""
        return PathFinder.find_spec(fullname, [str(ROOT)]) if fullname in NAMES else None


class InstalledNamespaces(MetaPathFinder):
    """Finds installed namespace packages, such as `google`, that also have a folder in the working directory.

    Python itself prefers packages with an `__init__.py`, anywhere on the path.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec; None if the working directory is not last, or if no such package is installed."""
        if path is not None or not sys.path or not _is_working_folder(sys.path[-1]):
            return None
        if not Path(sys.path[-1], fullname).is_dir():
            return None
        spec = PathFinder.find_spec(fullname, sys.path[:-1])
        if spec is None or spec.loader is not None or spec.submodule_search_locations is None:
            return None
        spec.submodule_search_locations = list(spec.submodule_search_locations)  # the path of a namespace package grows
        return spec


def mark_command() -> None:
    """Let `add_working_directory` change the path: this process runs one of our commands, not a user's program."""
    global _is_command
    _is_command = True


def add_working_directory() -> None:
    """Add the working directory to the end of the path of a command, because the user named packages.

    Until then it is not on the path: libraries try to import optional packages, which an untrusted folder may contain.
    """
    if not _is_command or sys.flags.safe_path:
        return
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)


def _is_working_folder(folder: str) -> bool:
    try:
        return folder == str(Path.cwd())
    except FileNotFoundError:  # the working directory was deleted
        return False


def install_finders() -> None:
    """Install the finders. Raises ImportError if another package of one of the names is loaded already."""
    for name in sorted(NAMES & sys.modules.keys()):
        file = getattr(sys.modules[name], "__file__", None)
        if file is None or Path(file).resolve().parent != ROOT / name:
            raise ImportError(
                f"{name} is loaded from {file or 'a folder without __init__.py'}, but rag-grid has a package of "
                "the same name. Import runner first, or rename your package."
            )
    if not any(isinstance(finder, OwnPackages) for finder in sys.meta_path):
        sys.meta_path[:0] = [OwnPackages(), InstalledNamespaces()]
