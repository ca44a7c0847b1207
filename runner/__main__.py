"""python -m runner: one cell, or with -m a whole grid."""

import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, open_dict

from runner import grid_launcher
from runner.sweep import run_sweep

grid_launcher.register()


@hydra.main(  # type: ignore[untyped-decorator]
    version_base="1.3", config_path="pkg://conf", config_name="config"
)
def main(config: DictConfig) -> None:
    """A sweep of one cell. Under Hydra's other launchers it is called for each cell of a sweep."""
    settings = HydraConfig.get()
    with open_dict(config):
        config.hydra = settings
    in_sweep = settings.mode is RunMode.MULTIRUN
    sweep_dir = Path(settings.sweep.dir if in_sweep else settings.run.dir)
    code = run_sweep([grid_launcher.job_of(config)], sweep_dir.name, list(settings.overrides.task))
    if code and in_sweep:
        raise RuntimeError(f"the cell {' '.join(settings.overrides.task)} ended with exit code {code}")
    if code:
        sys.exit(code)


def multirun_first(arguments: list[str]) -> list[str]:
    """The arguments with -m before all overrides: Hydra's parser refuses overrides on both sides of it."""
    flags = [argument for argument in arguments if argument in ("-m", "--multirun")]
    return [*flags[:1], *(argument for argument in arguments if argument not in flags)]


if __name__ == "__main__":
    sys.argv[1:] = multirun_first(sys.argv[1:])
    main()
