"""What stands for the code of a user's class in the keys of its results, so that an edit is never answered with numbers
of the code before it.

Our own classes need none: a test guards their versions, and an update must not throw every kept result away.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from runner.engine.plugins.plugin_loading import loaded, require_unchanged, snapshot_of
from runner.engine.plugins.snapshot import installed_digest


def is_ours(cls: type) -> bool:
    """True for a class of this project."""
    return cls.__module__.partition(".")[0] in ("components", "runner")


def package_code(cls: type) -> str:
    """SHA-256 (hex) over the user code that a class may depend on, as it was imported; "" for a class of ours."""
    return "" if is_ours(cls) else snapshot_of(cls).digest


def model_code(cls: type) -> str:
    """As `package_code`, over the modules that define the class and its parents, and what these import."""
    return "" if is_ours(cls) else snapshot_of(cls).model_code(cls).digest


def model_modules(cls: type) -> Mapping[str, str]:
    """The modules behind `model_code` of a user's class, with the SHA-256 (hex) of each."""
    return snapshot_of(cls).model_code(cls).modules


def require_equal_files(cls: type, *, as_model: bool = False) -> None:
    """Raise ComponentError if a file that a user's class may read changed since the run began. With `as_model`, only
    files that the replies of a language model depend on count.
    """
    if not is_ours(cls):
        require_unchanged(cls, as_model=as_model)


def has_code(cls: type) -> bool:
    """False for a class without a file, as one typed into a notebook, and for one that Python's own code made, as
    `make_dataclass` does: their edits would not be noticed.
    """
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names:
        return False
    return is_ours(cls) or Path(getattr(sys.modules.get(cls.__module__), "__file__", None) or "").is_file()


def code_of(package: str) -> str:
    """SHA-256 (hex) over the files of a top-level package: as this process has loaded it for a run, else as it is
    installed here. "" for one without files.
    """
    snapshot = loaded(package)
    return snapshot.digest_of(package) if snapshot else installed_digest(package)
