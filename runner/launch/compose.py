"""The configuration that a command line asks for, composed as `python -m runner` composes it, without running it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from runner.launch import grid_launcher


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


def hints(message: str) -> list[str]:
    """What to do about one of Hydra's messages, where it does not say so itself."""
    if "hydra/launcher/joblib" in message:
        return ["It comes with an extra: python -m pip install -c constraints.txt -e '.[joblib]'"]
    unknown = re.search(r"Could not override '([\w.@/]+)'", message)
    close = get_close_matches(unknown[1], list(_keys(compose_config([]))), n=1) if unknown else []
    return [f"Did you mean {close[0]}?"] if close else []


def _keys(node: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Dotted names of all groups and fields."""
    for name, value in node.items():
        yield f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _keys(value, f"{above}{name}.")
