"""The environment of processes that a sweep starts to run other modules of this project."""

import os
from pathlib import Path

from runner.engine.plugins.trusted import VARIABLE, trusted

_PROJECT = Path(__file__).resolve().parents[2]


def own_environment() -> dict[str, str]:
    """Return the variables of this process, changed so that `python -m` finds our packages in any working directory.

    Packages that this process trusts are trusted there too.
    """
    path = os.pathsep.join(filter(None, [str(_PROJECT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, VARIABLE: ",".join(trusted())}
