"""Processes of our own beside a sweep."""

import os
from pathlib import Path

from runner.engine.plugins.trusted import VARIABLE, trusted

_PROJECT = Path(__file__).resolve().parents[2]


def own_environment() -> dict[str, str]:
    """The variables of this process, with our packages where `python -m` finds them, whatever the working directory.
    Packages that this process trusts are trusted there too.
    """
    path = os.pathsep.join(filter(None, [str(_PROJECT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, VARIABLE: ",".join(trusted())}
