"""Makes overrides as users type them readable to Hydra."""

import re
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from components.errors import ConfigError
from components.secrets.configured_secrets import misplaced_in_override, named_variables
from components.secrets.known import mark_variable
from components.secrets.mask import current_mask
from components.text.brackets import bracket_depth
from runner.results.cell_axes import parse_override_key

_PLAIN = re.compile(r"[\w.,:/=+~@%*|-]*", re.ASCII)
_QUOTED_OR_NESTED = re.compile(r"['\"\[\]{}$\\]")
_DEEPEST = 50
"""Maximum number of nested brackets in an override: Hydra's parser recurses into each of them."""


def quote_values(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, with quotes around values that Hydra's grammar does not allow, such as paths in Chinese.

    A comma still separates values. Options, and values that Hydra can read, stay unchanged. Raises ConfigError for
    overrides that have no key, are nested too deeply to be parsed, or contain a secret. Secrets are refused first,
    because any later message may quote an override.
    """
    refuse_secrets(arguments)
    problems = [
        f"{argument}: no key before the =, expected group=option or key=value"
        for argument in arguments
        if argument.lstrip("+~").startswith("=")
    ]
    problems += [
        f"{parse_override_key(argument)}: got a value with {depth:,} nested brackets, expected at most {_DEEPEST}"
        for argument in arguments
        if (depth := bracket_depth(argument)) > _DEEPEST
    ]
    if problems:
        raise ConfigError(problems)
    return [argument if _is_readable(argument) else _quote_values(argument) for argument in arguments]


def refuse_stray_words(overrides: Sequence[str]) -> None:
    """Raise ConfigError for words that set nothing.

    Most are part of a list that was typed with spaces: "chunk.size=64, 128" reaches the command as two words.
    """
    if wide := [problem for override in overrides if (problem := _full_width_problem(override))]:
        raise ConfigError(wide)
    problems: dict[str, str] = {}
    axis = whole = ""
    for override in overrides:
        if "=" in override or override.startswith("~"):
            axis = whole = override
        elif axis:
            whole = f"{whole.rstrip(',')},{override.lstrip(',')}".replace("=,", "=")
            problems[axis] = f"{axis} {override}: separate values by commas, without spaces: {whole}"
        else:
            problems[override] = f"{override!r} sets nothing, expected group=option or key=value"
    if problems:
        raise ConfigError(list(problems.values()))


def _full_width_problem(override: str) -> str:
    """Return an error for a full-width equals sign, and for full-width commas between plain values; "" for others."""
    key, equals, value = override.partition("=")
    if (not equals and "\uff1d" in key) or re.fullmatch(r"[\w.-]+(\uff0c[\w.-]+)+", value, re.ASCII):
        plain = override.replace("\uff1d", "=").replace("\uff0c", ",")
        return f"{override}: contains full-width punctuation, expected {plain}"
    return ""


def refuse_secrets(arguments: Sequence[str]) -> None:
    """Raise ConfigError for overrides that contain secrets.

    Variables that overrides name for API keys count as secrets from now on.
    """
    for variable in named_variables(dict(argument.split("=", 1) for argument in arguments if "=" in argument)):
        mark_variable(variable)
    mask = current_mask()
    problems = [problem for argument in arguments if (problem := misplaced_in_override(argument, mask))]
    if problems:
        raise ConfigError(problems)


def unknown_key(message: str) -> str:
    """Return the key that does not exist according to an error of Hydra; "" if it is about something else."""
    match = re.search(r"Could not override '([\w.@/-]+)'", message)
    return match[1] if match else ""


def _is_readable(argument: str) -> bool:
    if argument.startswith("-") or "=" not in argument or _PLAIN.fullmatch(argument):
        return True
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        return False
    return True


def _quote_values(argument: str) -> str:
    """Quote the values of an argument. Values with quotes or lists stay unchanged, because Hydra reports their
    errors.
    """
    key, _, value = argument.partition("=")
    if _QUOTED_OR_NESTED.search(value):
        return argument
    return f"{key}=" + ",".join(part if _PLAIN.fullmatch(part) else f"'{part}'" for part in value.split(","))
