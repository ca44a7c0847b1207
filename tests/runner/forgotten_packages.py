"""Packages that a test wrote and imported, and that later tests must not find."""

import sys
from collections.abc import Collection

from runner.engine.plugins import plugin_loading


def forget_packages(names: Collection[str]) -> None:
    """Forget the top-level packages, and every package that a run named."""
    for name in [name for name in sys.modules if name.partition(".")[0] in names]:
        del sys.modules[name]
    plugin_loading._state.set({})
    plugin_loading.allow_edits()
