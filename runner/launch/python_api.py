"""Runs sweeps from a program as `python -m runner -m` does. Raises errors and returns results."""

import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError, StoreError
from runner.launch import grid_launcher
from runner.launch.compose import explain_error
from runner.launch.hydra_state import isolate_hydra
from runner.launch.overrides import quote_values, refuse_stray_words
from runner.launch.search_jobs import SearchJobs
from runner.launch.sweep import EXIT_INTERRUPTED, WriteConfig, start_sweep
from runner.pipeline.planned_cells import Job
from runner.results.loaded_sweep import LoadedSweep, load

_LIST = re.compile(r"\d+ errors? in the configuration:\n  - ")

_one_at_a_time = threading.RLock()
"""Makes sweeps of several threads run one after another: Hydra and the command line are global to the process."""


def run_overrides(overrides: Sequence[str], config_dir: str | Path | None) -> LoadedSweep:
    """Run a sweep: see `runner.run`."""
    if isinstance(overrides, str) or not all(isinstance(override, str) for override in overrides):
        raise ConfigError(
            f"overrides: got {overrides!r}, expected a list of strings, e.g. ['chunk.size=64,128', 'top_k=5']"
        )
    overrides = quote_values(overrides)
    refuse_stray_words(overrides)
    grid_launcher.register()
    jobs = _Jobs()
    try:
        with (
            _one_at_a_time,
            isolate_hydra(config_dir) as hydra,
            _command_line(overrides, config_dir),
        ):
            hydra.multirun("config", jobs, list(overrides), with_log_configuration=False)
    except SystemExit:  # a cell failed, which its result records, or the user interrupted
        if jobs.exit_code is None:
            raise  # a custom component raised it before anything ran
        if jobs.exit_code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt from None
    except (HydraException, OmegaConfBaseException, RecursionError) as error:
        raise ConfigError(_problems(explain_error(error, overrides))) from error
    except OSError as error:
        raise StoreError(f"run.results_dir: cannot write to it: {error}. Choose another run.results_dir.") from error
    assert jobs.folder is not None
    is_planned_only = not (jobs.folder / "sweep.json").exists()
    return LoadedSweep(jobs.folder, ()) if is_planned_only else load(jobs.folder)


def _problems(message: str) -> list[str]:
    """Return the errors that a message lists. Hydra turns a ConfigError into its own error, with all errors in one
    message.
    """
    listed = _LIST.match(message)
    return message[listed.end() :].split("\n  - ") if listed else [message]


class _Jobs:
    """Task function for Hydra: our launcher passes all jobs to `run_jobs` together."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.exit_code: int | None = None

    def run_jobs(
        self,
        jobs: Sequence[Job],
        sweep_id: str,
        overrides: Sequence[str],
        write_config: WriteConfig,
        *,
        search: SearchJobs | None = None,
    ) -> int:
        """Run the sweep and return its exit code: see `start_sweep`."""
        self.folder = Path(jobs[0].config["run"]["results_dir"]).absolute() / sweep_id
        self.exit_code = start_sweep(jobs, sweep_id, overrides, write_config, search=search)
        return self.exit_code

    def __call__(self, config: DictConfig) -> NoReturn:
        """Refuse other launchers, which call the task function for each job."""
        raise ConfigError("hydra/launcher: runner.run supports only hydra/launcher=grid. Remove the override.")


@contextmanager
def _command_line(overrides: Sequence[str], config_dir: str | Path | None) -> Iterator[None]:
    """Set `sys.argv` to the equivalent command, which the results record."""
    before = sys.argv
    flags = [] if config_dir is None else ["--config-dir", str(config_dir)]
    sys.argv = [before[0] if before else "", "-m", *flags, *overrides]
    try:
        yield
    finally:
        sys.argv = before
