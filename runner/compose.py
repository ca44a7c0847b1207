"""The configuration that a command line asks for, composed as `python -m runner` composes it, without running it."""

from collections.abc import Sequence
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from runner import grid_launcher


def compose_config(overrides: Sequence[str]) -> dict[str, Any]:
    """Plain and resolved. Raises ConfigError with Hydra's own message for an option or key that does not exist."""
    grid_launcher.register()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("conf", version_base="1.3"):
            config: Any = OmegaConf.to_container(compose("config", list(overrides)), resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(" ".join(str(cause) for cause in (error, error.__cause__) if cause)) from error
    return dict(config)
