"""Commands of processes that run other modules of this project."""

import os
import sys
from pathlib import Path

from runner.engine.plugins.trusted_packages import VARIABLE, list_trusted

_PROJECT = Path(__file__).resolve().parents[2]

_START = (
    "import sys; sys.path[:] = filter(None, sys.path)\n"
    "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
"""Takes the working directory off the path before any import. `python -m` would look there for `runner` first."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs one of our modules, in any working directory, as `python -m` does."""
    return [sys.executable, *(["-P"] if sys.flags.safe_path else []), "-c", _START, module, *arguments]


def module_environment() -> dict[str, str]:
    """Return the variables of this process, changed so that a process finds our packages in any working directory.

    Packages that this process trusts are trusted there too.
    """
    path = os.pathsep.join(filter(None, [str(_PROJECT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, VARIABLE: ",".join(list_trusted())}
