"""Skips tests of optional packages without importing the packages. A module that is imported during collection is
by every worker, whether or not it runs such a test, and torch alone takes seconds.
"""

from importlib.util import find_spec

import pytest


def skip_without(*packages: str, extra: str = "models") -> None:
    """Skips the module, or the test, that calls it if one of the packages is not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        pytest.skip(f"the extra `{extra}` is not installed: no {', '.join(missing)}", allow_module_level=True)
