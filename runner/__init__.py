"""The grid runner: plans a sweep of pipelines, does every distinct piece of work once, keeps it, and reports."""

import os
import sys

# `python -m` puts the working directory first. It may hold somebody's results with a `pandas.py` among them.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib would be looked for there
    except FileNotFoundError:  # removed, and not on the path
        here = ""
    if here in sys.path:
        sys.path.remove(here)
        sys.path.append(here)

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner.console.own_packages import find_own_packages_first

if TYPE_CHECKING:
    from runner.results.loaded_sweep import LoadedSweep
    from runner.serving.pipeline import Pipeline

find_own_packages_first()


def run(overrides: Sequence[str] = (), *, config_dir: str | Path | None = None) -> "LoadedSweep":
    """Runs a sweep as `python -m runner -m` does with these overrides, and returns the results of its cells, of which
    `analysis.load` makes tables.

    `run(["chunk.size=64,128", "top_k=2,8"])` has four cells, `run(["+sweeps=smoke"])` those of the preset, `run()` one.
    `config_dir` is a folder with options of your own, as `--config-dir`. With `run.plan_only=true` there are no cells.

    A cell that fails raises nothing: `.failed` has it. Raises ConfigError, DataError or StoreError (all RagGridError)
    for what keeps the sweep from running, BudgetReached (one too) when a budget stops it, and KeyboardInterrupt when it
    is interrupted. Hydra is left as it was found.
    """
    from runner.launch.python_api import run_overrides

    return run_overrides(overrides, config_dir)


def load_pipeline(folder: str | Path, *, trust: bool = False) -> "Pipeline":
    """The pipeline of a cell, from the folder that `python -m runner.export` wrote: `load_pipeline("DIR").answer("?")`.

    A folder may name packages, programs and models with code of their own: these run only with `trust=True`. Raises
    RagGridError if the folder cannot be used.
    """
    from runner.serving import pipeline

    return pipeline.load_pipeline(folder, trust=trust)
