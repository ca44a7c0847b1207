"""What stands for the code of a user's class in the keys of its results, so that an edit is never answered with numbers
of the code before it.

Our own classes need none: a test guards their versions, and an update must not throw every kept result away.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path


def is_ours(cls: type) -> bool:
    """True for a class of this project."""
    return cls.__module__.partition(".")[0] in ("components", "runner")


def package_code(cls: type) -> str:
    """SHA-256 (hex) over all .py files of the package that a class is from, "" for a class of ours.

    Taken once for each class: a module that is loaded anew, as notebooks do it, has new ones.
    """
    return "" if is_ours(cls) else _package_digest(cls)


def module_code(cls: type) -> str:
    """As `package_code`, over the file of its module alone."""
    return "" if is_ours(cls) else _module_digest(cls)


def has_code(cls: type) -> bool:
    """False for a class without a file, as one typed into a notebook: its edits would not be noticed."""
    return is_ours(cls) or bool(_file_of_module(cls.__module__))


def code_of(package: str) -> str:
    """SHA-256 (hex) over all .py files of a package as it is installed here. Raises ImportError."""
    folders = getattr(import_module(package), "__path__", ())
    files = [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]
    return _digest(files or _file_of_module(package))


@cache
def _package_digest(cls: type) -> str:
    return code_of(cls.__module__.partition(".")[0])


@cache
def _module_digest(cls: type) -> str:
    return _digest(_file_of_module(cls.__module__))


def _file_of_module(name: str) -> list[Path]:
    file = Path(getattr(import_module(name), "__file__", None) or "")
    return [file] if file.is_file() else []


def _digest(files: Sequence[Path]) -> str:
    """Of the contents in their order, wherever the files are; "" for none."""
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest() if files else ""
