"""From a command line to the settings of a run."""

from collections.abc import Sequence

from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from components.json_value import Json
from runner.launch.axes import plain_of
from runner.launch.compose import causes
from runner.launch.hydra_state import own_hydra
from runner.launch.overrides import readable
from runner.launch.schema import build_component, plugins_of
from runner.testset.settings import Generation

CONF = "pkg://runner.generate.conf"

_CHECKER = "checker"


def composed(overrides: Sequence[str], name: str = "config") -> dict[str, Json]:
    """The configuration that overrides of conf/NAME.yaml ask for, plain and resolved. Raises ConfigError."""
    if flags := [override for override in overrides if override.startswith("-")]:
        raise ConfigError(f"{flags[0]}: unknown option; wanted overrides, e.g. corpus.path=my_docs out=my_set")
    try:
        with own_hydra(conf=CONF) as hydra:
            long = [_long(override) for override in readable(overrides)]
            config = hydra.compose_config(name, long, RunMode.RUN, from_shell=False)
            if OmegaConf.is_missing(config, _CHECKER):
                OmegaConf.update(config, _CHECKER, "${llm}")
            return plain_of(config)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(" ".join(causes(error)).partition("\nConfig search path:")[0]) from error


def _long(override: str) -> str:
    """`checker=openai` is short for an option of another group in that place."""
    name, equals, value = override.partition("=")
    return f"+llm@{_CHECKER}{equals}{value}" if name == _CHECKER else override


def settings_of(config: dict[str, Json]) -> Generation:
    """Typed settings. Raises ConfigError with every mistake found."""
    settings: Generation = build_component(config, Generation, "", plugins_of(config))
    return settings
