"""From the results of sweeps to tables, pictures and tests."""

import os
import sys

# The working directory may hold a `runner` of the user's. Once ours is loaded it finds the rest of us: `own_packages`.
_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib may be somebody's, too
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
    """Load `Sweep` when it is first read: commands load their modules where Ctrl-C ends them in order."""
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
    """The sweep in that folder, or of that id in `results_dir`, or what `runner.run` returned, as pandas frames.

    Several sweeps are one, in which an experiment that is in more than one of them is one cell: that of the first sweep
    in which it did not fail. `plugins` are packages of your own that this process may import from now on: a metric of
    theirs that has values for a corpus alone needs its code, and results import none that they name. Raises DataError,
    and ConfigError for plugins that are no names.
    """
    from analysis.frames.sweep_frames import Sweep
    from components.errors import ConfigError
    from runner.results import load_together, trust

    if isinstance(plugins, str):
        raise ConfigError([f"plugins: got {plugins!r}, expected a list of packages, e.g. plugins=[{plugins!r}]"])
    trust(plugins)
    return Sweep(load_together([sweep, *others], results_dir))
