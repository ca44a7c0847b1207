"""Grid runner: plans a sweep of pipelines, computes each distinct stage once, stores its result, and reports."""

import os
import sys

# `python -m` puts the working directory first on the path. That folder may contain a user's files, such as `pandas.py`.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib would itself be looked for in that folder
    except FileNotFoundError:  # the directory was deleted, so it is not on the path
        here = ""
    if here in sys.path:
        sys.path.remove(here)  # `add_working_directory` adds it at the end once a user names a package

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner.console.own_packages import install_finders

if TYPE_CHECKING:
    from runner.results.loaded_sweep import LoadedSweep
    from runner.serving.pipeline import Pipeline

install_finders()


def run(overrides: Sequence[str] = (), *, config_dir: str | Path | None = None) -> "LoadedSweep":
    """Run a sweep as `python -m runner -m` does with these overrides, and return the results of its cells.

    `run(["chunk.size=64,128", "top_k=2,8"])` has four cells, `run(["+sweeps=smoke"])` has the cells of the preset, and
    `run()` has one cell. `analysis.load` turns the results into tables. `config_dir` is a folder with custom options,
    as for `--config-dir`. With `run.plan_only=true` there are no cells.

    A failed cell raises no error: it is listed in `.failed`. Raises ConfigError, DataError or StoreError (all
    RagGridError) if the sweep cannot run, BudgetReached (also a RagGridError) if a budget stops it, and
    KeyboardInterrupt if it is interrupted. The state of Hydra is restored afterwards.
    """
    from runner.launch.python_api import run_overrides

    return run_overrides(overrides, config_dir)


def load_pipeline(folder: str | Path, *, trust: bool = False) -> "Pipeline":
    """Load the pipeline of a cell from a folder that `python -m runner.export` wrote:
    `load_pipeline("DIR").answer("?")`.

    A folder may name packages, programs and models that run custom code. They run only with `trust=True`. Raises
    RagGridError if the folder cannot be used.
    """
    from runner.serving import pipeline

    return pipeline.load_pipeline(folder, trust=trust)
