"""The code that an exported folder brings along: this project's packages, and the user's own.

A copy, and no requirement: the project is in no package index, a fork of it may differ, and a sweep's own packages are
in no index either. What is copied is what runs.
"""

import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from components.errors import DataError

_PACKAGES = ("components", "runner")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
_LEFT_OUT_OF_OURS = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "demo_data", "demo_en_data", "exporting")


def copy_code(plugins: Sequence[str], folder: Path) -> None:
    """Copies the packages; a plugin may be a package, or a single module. Raises DataError for one without files."""
    folder.mkdir(parents=True)
    root = Path(__file__).resolve().parents[3]
    if (root / "LICENSE").is_file():  # else the project is installed, and its metadata have it
        shutil.copyfile(root / "LICENSE", folder / "LICENSE")
    for name in _PACKAGES:
        shutil.copytree(root / name, folder / name, ignore=_LEFT_OUT_OF_OURS)
    for name in dict.fromkeys(plugin.partition(".")[0] for plugin in plugins):
        _copy_package(name, folder)


def _copy_package(name: str, folder: Path) -> None:
    module = import_module(name)
    places = [Path(place) for place in getattr(module, "__path__", ())]
    file = Path(getattr(module, "__file__", None) or "")
    if not places and not file.is_file():
        raise DataError(
            f"run.plugins: {name} has no files that could be copied; expected a package or a module in a file"
        )
    for place in places:
        shutil.copytree(place, folder / name, ignore=_LEFT_OUT, dirs_exist_ok=True)
    if not places:
        shutil.copyfile(file, folder / file.name)
