"""Finds our own packages before what a user's working directory holds: a folder `conf/` is common, and `python -m` puts
the working directory first.

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
        sys.meta_path.insert(0, OwnPackages())
