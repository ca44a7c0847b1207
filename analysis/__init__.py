"""Tables, charts and tests computed from the results of sweeps."""

import os
import sys

# The working directory may contain a package named `runner`. Once ours is imported, it finds our other packages: see
# `own_packages`.
_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - the user's files may shadow pathlib, too
sys.path.insert(0, _ROOT)
import runner  # noqa: F401 - moves the working directory to the end of the path

# isort: split
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.frames.sweep_frames import Sweep
    from runner.results import LoadedSweep

sys.path.remove(_ROOT)

__all__ = ["Sweep", "load"]


def __getattr__(name: str) -> object:
    """Import `Sweep` on first access. Commands import their modules late, so that Ctrl-C ends them cleanly."""
    if name != "Sweep":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from analysis.frames.sweep_frames import Sweep

    return Sweep


def load(
    sweep: "str | Path | LoadedSweep",
    *others: "str | Path | LoadedSweep",
    results_dir: str | Path = "results",
    plugins: Sequence[str] = (),
) -> "Sweep":
    """Return a sweep as pandas frames: from its folder, its id in `results_dir`, or the result of `runner.run`.

    Several sweeps are joined into one. A cell that several of them contain is taken from the first sweep in which it
    did not fail. `plugins` names your packages that this process may import from now on. Their metrics that need the
    whole corpus are recomputed by their code. Reading results never imports a package by itself. Raises DataError if a
    sweep does not exist or cannot be read, and ConfigError for invalid package names.
    """
    from analysis.frames.sweep_frames import Sweep
    from components.errors import ConfigError
    from runner.results import load_together, trust

    if isinstance(plugins, str):
        raise ConfigError([f"plugins: got {plugins!r}, expected a list of packages, e.g. plugins=[{plugins!r}]"])
    trust(plugins)
    return Sweep(load_together([sweep, *others], results_dir))
