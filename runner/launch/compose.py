"""The configuration that a command line asks for, composed as `python -m runner` composes it, without running it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError, install_command
from components.json_value import Json
from runner.launch import grid_launcher
from runner.launch.axes import plain_of
from runner.launch.hydra_state import own_hydra


def compose_config(overrides: Sequence[str]) -> dict[str, Json]:
    """Plain and resolved. Raises ConfigError with Hydra's own message for an option or key that does not exist.

    Options of a user's own are found with the override `hydra.searchpath=[file://my_conf]`.
    """
    grid_launcher.register()
    try:
        with own_hydra() as hydra:
            return plain_of(hydra.compose_config("config", list(overrides), RunMode.RUN, from_shell=False))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(" ".join(causes(error))) from error


def causes(error: Exception) -> list[str]:
    """The messages of one of Hydra's errors and of what caused it, which often says more."""
    return [str(cause) for cause in (error, error.__cause__) if cause]


def told(error: Exception) -> str:
    """One of Hydra's errors as a message that says what to do about it."""
    message = "\n".join(causes(error)).partition("\nConfig search path:")[0]
    if "hydra/launcher/joblib" in message:
        return f"{message}\nIt comes with an extra: {install_command('joblib')}"
    unknown = re.search(r"Could not override '([\w.@/]+)'", message)
    close = get_close_matches(unknown[1], list(_keys(compose_config([]))), n=1) if unknown else []
    # Hydra's own advice, to append the key with a plus, would lead to the next error.
    return f"{unknown[1]}: unknown; did you mean {close[0]}?" if unknown and close else message


def _keys(node: Mapping[str, Json], above: str = "") -> Iterator[str]:
    """Dotted names of all groups and fields."""
    for name, value in node.items():
        yield f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _keys(value, f"{above}{name}.")
