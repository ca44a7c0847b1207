"""Checks the folders in Hydra's settings. Results go to `run.results_dir`; other places are refused."""

from collections.abc import Iterator
from pathlib import Path

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError

_IN_RESULTS = "${run.results_dir}/"


def require_results_folder(config: DictConfig) -> None:
    """Check `hydra.run.dir` and `hydra.sweep.dir` of a composed configuration that has a `run.results_dir`.

    `hydra.sweep.dir` may name the sweep: a folder in `run.results_dir`. Raises HydraException for other places, and for
    a `run` that is not a mapping.
    """
    if "run" not in config:
        return
    if not isinstance(config.run, DictConfig):
        raise HydraException(f"run: got {config.run!r}, expected a mapping")
    if "results_dir" not in config.run:
        return
    mistakes = [*_run_mistakes(config), *_sweep_mistakes(config)]
    if mistakes:
        raise HydraException(str(ConfigError(mistakes)))


def _run_mistakes(config: DictConfig) -> Iterator[str]:
    written: object = config.hydra.run._get_node("dir")._value()
    if written != ".":
        yield f"hydra.run.dir: got {written!r}, which does not move results; set run.results_dir={written} instead"


def _sweep_mistakes(config: DictConfig) -> Iterator[str]:
    written: object = config.hydra.sweep._get_node("dir")._value()
    if str(written).startswith(_IN_RESULTS):
        return
    try:
        folder = Path(str(OmegaConf.select(config, "hydra.sweep.dir"))).absolute()
    except OmegaConfBaseException:
        folder = None
    if folder is None or folder.parent != Path(str(config.run.results_dir)).absolute():
        yield (
            f"hydra.sweep.dir: got {written!r}, expected a folder in run.results_dir={config.run.results_dir}; to "
            "write results elsewhere set run.results_dir=FOLDER"
        )
