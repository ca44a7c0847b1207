"""Overrides as people type them, made readable to Hydra."""

import re
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from components.errors import ConfigError
from components.secrets.given import misplaced_in_override
from components.secrets.mask import current_mask

_PLAIN = re.compile(r"[\w.,:/=+~@%*|-]*", re.ASCII)
_QUOTED_OR_NESTED = re.compile(r"['\"\[\]{}$\\]")


def readable(arguments: Sequence[str]) -> list[str]:
    """The arguments, with quotes around values that Hydra's grammar has no place for, such as paths in Chinese or with
    brackets; a comma still separates values. Options and what Hydra can read stay as they are.

    Raises ConfigError for an override without a key, and for one that holds a secret, which is not repeated: whatever
    comes later may quote the override.
    """
    refuse_secrets(arguments)
    nameless = [argument for argument in arguments if argument.lstrip("+~").startswith("=")]
    if nameless:
        raise ConfigError(
            [f"{argument}: no key before the =, wanted group=option or key=value" for argument in nameless]
        )
    return [argument if _is_readable(argument) else _quoted(argument) for argument in arguments]


def refuse_secrets(arguments: Sequence[str]) -> None:
    """Raises ConfigError for overrides that hold secrets."""
    mask = current_mask()
    mistakes = [mistake for argument in arguments if (mistake := misplaced_in_override(argument, mask))]
    if mistakes:
        raise ConfigError(mistakes)


def key_of(override: str) -> str:
    """Whose value it sets, adds or removes: "chunk.size" of "+chunk.size=64"."""
    return override.lstrip("+~").partition("=")[0]


def _is_readable(argument: str) -> bool:
    if argument.startswith("-") or "=" not in argument or _PLAIN.fullmatch(argument):
        return True
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        return False
    return True


def _quoted(argument: str) -> str:
    """As it is where quotes or lists are in it: what it means is not for us to guess, and Hydra says what is wrong."""
    key, _, value = argument.partition("=")
    if _QUOTED_OR_NESTED.search(value):
        return argument
    return f"{key}=" + ",".join(part if _PLAIN.fullmatch(part) else f"'{part}'" for part in value.split(","))
