"""Preserves Hydra's global state in the process. A user's program may have set it before it calls us."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra._internal import hydra as hydra_app
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobRuntime
from hydra.version import VersionBase, setbase

from components.errors import ConfigError
from runner.console.ending_signals import unmask_interrupts
from runner.launch.hydra_startup import BASE_VERSION
from runner.launch.parts_loader import PartsLoader
from runner.launch.preset_source import CONF

_RUN_STATE = (GlobalHydra, HydraConfig, JobRuntime, VersionBase)


@contextmanager
def isolate_hydra(config_dir: str | Path | None = None, conf: str = CONF) -> Iterator[Hydra]:
    """Run Hydra with the configuration in `conf` and `config_dir`, and restore its state at the end.

    The presets are included for the default `conf`. Raises ConfigError if the folder does not exist, and
    KeyboardInterrupt for an error of OmegaConf that took its place.
    """
    instances: dict[type, object] = Singleton._instances
    before = {kind: instances.pop(kind) for kind in _RUN_STATE if kind in instances}
    try:
        if BASE_VERSION:
            setbase(BASE_VERSION["version_base"])
        with compose_by_parts():
            hydra = Hydra.create_main_hydra2("runner", _search_path(config_dir, conf))
        with unmask_interrupts():
            yield hydra
    finally:
        for kind in _RUN_STATE:
            instances.pop(kind, None)
        instances.update(before)


@contextmanager
def compose_by_parts() -> Iterator[None]:
    """Make Hydra objects that are created within the context compose by `PartsLoader`."""
    original = hydra_app.ConfigLoaderImpl
    hydra_app.ConfigLoaderImpl = PartsLoader
    try:
        yield
    finally:
        hydra_app.ConfigLoaderImpl = original


@contextmanager
def detect_mode_from_flags(arguments: Sequence[str]) -> Iterator[None]:
    """Decide by these arguments whether a command is a sweep, without composing a configuration for `hydra.mode`.

    That composition takes as long as everything else before the plan. With -m, the command is a sweep. Without -m, it
    is one only if an override of Hydra's settings or a custom configuration says so. Hydra still composes in that case.
    """
    is_sweep = "-m" in arguments or "--multirun" in arguments
    if not is_sweep and any(argument.startswith("-") or "hydra" in argument for argument in arguments):
        yield
        return
    look_for_mode = Hydra.get_mode
    Hydra.get_mode = lambda hydra, config_name, overrides, *_, **__: None  # Hydra 1.4 passes more arguments
    try:
        yield
    finally:
        Hydra.get_mode = look_for_mode


def _search_path(config_dir: str | Path | None, conf: str) -> ConfigSearchPath:
    search_path = create_config_search_path(conf)
    if config_dir is not None:
        if not Path(config_dir).is_dir():
            raise ConfigError(f"config_dir: got {str(config_dir)!r}, expected a folder of configuration groups")
        search_path.append("config_dir", f"file://{Path(config_dir).absolute()}", anchor="main")
    return search_path
