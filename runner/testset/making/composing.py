"""Composes the settings of a run from a command line."""

import re
from collections.abc import Sequence
from importlib.resources import files

from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError
from components.json_value import Json
from components.limits import closest_name, expected_one_of
from components.secrets.configured_secrets import misplaced_secrets
from runner.engine.plugins.plugin_loading import load_plugins
from runner.launch.axis_naming import plain_config
from runner.launch.compose import causes, dotted_names
from runner.launch.hydra_state import isolate_hydra
from runner.launch.option_names import option_names
from runner.launch.overrides import quote_values
from runner.pipeline.building import build_component, read_plugins
from runner.testset.making.generation_settings import GenerationSettings

CONF = "pkg://runner.testset.conf"

_CHECKER = "checker"


def compose_generation(overrides: Sequence[str], name: str = "config") -> dict[str, Json]:
    """Return the configuration that overrides of conf/NAME.yaml request, plain and resolved.

    Raises ConfigError for overrides that cannot be composed, and for secrets in the result.
    """
    if flags := [override for override in overrides if override.startswith("-")]:
        raise ConfigError(f"{flags[0]}: unknown option, expected overrides, e.g. corpus.path=my_docs out=my_set")
    try:
        with isolate_hydra(conf=CONF) as hydra:
            expanded = [_expand(override) for override in quote_values(overrides)]
            config = hydra.compose_config(name, expanded, RunMode.RUN, from_shell=False)
            if OmegaConf.is_missing(config, _CHECKER):
                OmegaConf.update(config, _CHECKER, "${llm}")
            plain = plain_config(config)
    except (HydraException, OmegaConfBaseException) as error:
        checker = [_expand(each) for each in overrides if each.startswith(f"{_CHECKER}=")]
        raise ConfigError(_explain_error(error, name, checker)) from error
    if errors := list(misplaced_secrets(plain)):
        raise ConfigError(errors)
    return plain


def _expand(override: str) -> str:
    """Return the override in Hydra's form. `checker=openai` is short for an option of the group `llm` at that place."""
    name, equals, value = override.partition("=")
    return f"+llm@{_CHECKER}{equals}{value}" if name == _CHECKER else override


def _explain_error(error: Exception, name: str, checker: list[str]) -> str:
    """Return the message for one of Hydra's errors, with advice. `checker` is the override that chooses the checker, if
    any.
    """
    message = "\n".join(causes(error)).partition("\nConfig search path:")[0]
    if missing := re.search(r"Interpolation key '\w+' not found\s+full_key: ([\w.]+)", message):
        return f"{missing[1]}: is missing. Set it with {missing[1]}=..."
    if unknown := re.search(r"Could not override '([\w.@/]+)'", message):
        return f"{unknown[1]}: {_advice_on_unknown(unknown[1], name, checker)}"
    if several := re.search(r"Ambiguous value for argument '([^']+)'", message):
        return f"{several[1]}: got several values, but a run makes one set. Use one value, or a list in brackets."
    if option := re.search(r"Could not load '(\w+)/([^']*)'", message):
        return f"{option[1]}: got {option[2]!r}{expected_one_of(option[2], _options(option[1]))}"
    return message


def _advice_on_unknown(key: str, name: str, checker: list[str]) -> str:
    """Return advice on a key that does not exist."""
    group = key.partition(".")[0]
    if group == _CHECKER and not checker:
        return f"no checker is chosen, so the writer checks itself. Choose one first, e.g. {_CHECKER}=openai"
    with isolate_hydra(conf=CONF) as hydra:
        config: Json = OmegaConf.to_container(hydra.compose_config(name, checker, RunMode.RUN, from_shell=False))
    known = [name for name in dotted_names(config) if not name.endswith("._target_")]
    close = closest_name(key, known, cutoff=0.8)
    if close and not key.startswith(f"{close}."):
        return f"unknown; did you mean {close}?"
    above = key.rpartition(".")[0]
    if beside := [name.rpartition(".")[2] for name in known if above and name.rpartition(".")[0] == above]:
        return f"unknown{expected_one_of(key.rpartition('.')[2], beside)}"
    if options := _options(group):
        return f"the chosen option of {group} does not have this field; its options are {', '.join(options)}"
    return "unknown; --cfg shows all fields"


def _options(group: str) -> list[str]:
    """Return the options of one of our groups, sorted; [] for a name that is not one."""
    return option_names(files("runner.testset.conf").joinpath(group))


def build_settings(config: dict[str, Json]) -> GenerationSettings:
    """Return the typed settings. Raises ConfigError with all errors together."""
    load_plugins(read_plugins(config))
    settings: GenerationSettings = build_component(config, GenerationSettings, "", read_plugins(config))
    return settings
