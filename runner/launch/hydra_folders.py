"""Checks the folders in Hydra's settings. Results go to `run.results_dir`; other places are refused.

A preset can set these folders too. Hydra would overwrite files there, also in a plan.
"""

from collections.abc import Iterator
from pathlib import Path

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError

_IN_RESULTS = "${run.results_dir}/"


def require_results_folder(config: DictConfig) -> None:
    """Check the folders of Hydra in a composed configuration that has a `run.results_dir`.

    `hydra.sweep.dir` may name the sweep: a folder in `run.results_dir`. `hydra.output_subdir` stays null. Raises
    HydraException for other places, and for a `run` that is not a mapping.
    """
    if "run" not in config:
        return
    if not isinstance(config.run, DictConfig):
        raise HydraException(f"run: got {config.run!r}, expected a mapping")
    if "results_dir" not in config.run:
        return
    problems = [*_run_problems(config), *_sweep_problems(config), *_job_problems(config)]
    if problems:
        raise HydraException(str(ConfigError(problems)))


def _run_problems(config: DictConfig) -> Iterator[str]:
    written: object = config.hydra.run._get_node("dir")._value()
    if written != ".":
        yield f"hydra.run.dir: got {written!r}, which does not move results. Set run.results_dir={written} instead."


def _sweep_problems(config: DictConfig) -> Iterator[str]:
    written: object = config.hydra.sweep._get_node("dir")._value()
    if str(written).startswith(_IN_RESULTS):
        return
    try:
        folder = Path(str(OmegaConf.select(config, "hydra.sweep.dir"))).absolute()
    except OmegaConfBaseException:
        folder = None
    if folder is None or folder.parent != Path(str(config.run.results_dir)).absolute():
        yield (
            f"hydra.sweep.dir: got {written!r}, expected a folder in run.results_dir={config.run.results_dir}. To "
            "write results elsewhere set run.results_dir=FOLDER"
        )


def _job_problems(config: DictConfig) -> Iterator[str]:
    if (written := config.hydra._get_node("output_subdir")._value()) is not None:
        yield f"hydra.output_subdir: got {written!r}, expected null: the sweep writes .hydra/ into its own folder"
    try:
        job_folder(str(config.hydra.sweep._get_node("subdir")._value()))
    except ConfigError as error:
        yield from error.problems


def job_folder(subdir: str) -> Path:
    """Return `hydra.sweep.subdir`, the folder of a job within its sweep's folder. Raises ConfigError for a place
    outside.
    """
    folder = Path(subdir)
    if folder.is_absolute() or ".." in folder.parts:
        raise ConfigError([f"hydra.sweep.subdir: got {subdir!r}, expected a folder inside the sweep's folder"])
    return folder
