"""Composes the configuration of a command line as `python -m runner` does, without running it."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files

import yaml
from hydra.errors import HydraException, OverrideParseException
from hydra.types import RunMode
from omegaconf.errors import OmegaConfBaseException

from components.errors import ConfigError, install_command
from components.json_value import Json
from components.limits import closest_name, expected_one_of
from runner.launch import grid_launcher
from runner.launch.axis_naming import plain_config
from runner.launch.hydra_state import isolate_hydra
from runner.launch.overrides import refuse_secrets, unknown_key
from runner.results.cell_axes import parse_override_key

_MAX_OPTIONS = 4
"""Maximum number of options of a group that a message lists."""


def compose_config(overrides: Sequence[str]) -> dict[str, Json]:
    """Compose a configuration and resolve it. Raises ConfigError with Hydra's message for an unknown option or key.

    The override `hydra.searchpath=[file://my_conf]` adds a folder with custom options.
    """
    refuse_secrets(overrides)
    grid_launcher.register()
    try:
        with isolate_hydra() as hydra:
            return plain_config(hydra.compose_config("config", list(overrides), RunMode.RUN, from_shell=False))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_unknown_option("\n".join(causes(error))) or " ".join(causes(error))) from error


def causes(error: Exception) -> list[str]:
    """Return the messages of one of Hydra's errors and of its cause, which often says more."""
    return [str(cause) for cause in (error, error.__cause__) if cause]


def explain_error(error: Exception, overrides: Sequence[str]) -> str:
    """Turn one of Hydra's errors about `overrides` into a message that says what to do."""
    if isinstance(error, RecursionError):
        return (
            "the configuration refers to itself or is nested too deeply. Look for a preset in its own defaults, or "
            "for an interpolation within itself"
        )
    message = "\n".join(causes(error)).partition("\nConfig search path:")[0]
    if problem := _unreadable_value(error, message) or _unknown_option(message) or _replaced_settings(overrides):
        return problem
    unknown = unknown_key(message)
    if unknown and f"~{(group := unknown.partition('.')[0])}" in overrides:
        return f"~{group}: removes the group that {unknown} belongs to. Leave one of the two out."
    if "hydra/launcher/joblib" in message:
        return f"{message}\nInstall it with: {install_command('joblib')}"
    if interpolation := re.search(r"Interpolation key '([\w.]+)' not found\s+full_key: ([\w.]+)", message):
        return f"{interpolation[2]}: takes the value of {_missing_field(interpolation[1])}"
    if "Error resolving interpolation '${language}'" in message:  # Hydra composes added options before all else
        return (
            "an added option (+group@place=option) cannot depend on `language`. Choose it at a place that the "
            "YAML of the group names (group@place=option), as in reranker=cascade "
            "reranker@reranker.steps.last=llm_listwise"
        )
    twice = re.search(r"(?:Multiple values for )?([\w@./]+)(?:\. To override| appears more than once)", message)
    if twice:
        return f"+{twice[1]}: the chosen option has a value for it already. Leave out the plus: {twice[1]}=..."
    missing = re.search(r"full_key: ([\w.-]+)", message)  # `full_key` is the key, a parent, or a place inside the value
    if unknown and missing and missing[1].startswith(f"{unknown}."):
        return f"{unknown}: {missing[1]} does not exist yet; to add it, begin with a plus: +{unknown}=..."
    # Otherwise Hydra would advise to append the key with a plus, which leads to the next error.
    return (unknown and _advice(unknown, missing[1] if missing else unknown, overrides)) or message


def _unreadable_value(error: Exception, message: str) -> str:
    """Return a message about an override that Hydra cannot read, or that has several values without -m.

    "" for any other error.
    """
    if isinstance(error, OverrideParseException):
        return (
            f"{error.override}: cannot be read as key=value. Close every bracket and quote. If the value has spaces, "
            """commas, colons, = or brackets of its own, quote it twice: 'key="value"'"""
        )
    if several := re.search(r"Ambiguous value for argument '([^']+)'", message):
        key, _, values = several[1].partition("=")
        return (
            f"{several[1]}: got several values. For a sweep over them, add -m. If one list is meant: {key}=[{values}]"
        )
    return ""


def _unknown_option(message: str) -> str:
    """Return a message about an option that its group does not have, "" if Hydra's message is about something else."""
    option = re.search(r"Could not (?:find|load) '([^']*)/([^'/]*)'", message)
    known = re.findall(r"^\t(\S+)$", message, re.MULTILINE)  # Hydra lists the options of the group
    return f"{option[1]}: got {option[2]!r}{expected_one_of(option[2], known)}" if option else ""


def _replaced_settings(overrides: Sequence[str]) -> str:
    """Return a message about an override such as run=x, which sets a node of settings to a plain value, or
    "" if no override does.
    """
    values = {parse_override_key(each): each.partition("=")[2] for each in overrides}
    plain = {key: value for key, value in values.items() if "." not in key and not value.startswith("{")}
    settings = compose_config([]) if plain else {}
    for key, value in plain.items():
        node = settings.get(key)
        if isinstance(node, Mapping) and not files("conf").joinpath(key).is_dir():
            return f"{key}: got {value}, expected a mapping. Set one of its fields, e.g. {key}.{next(iter(node))}=..."
    return ""


def _missing_field(key: str) -> str:
    """Describe a missing field that another field refers to, and the options that have it."""
    group, _, field = key.partition(".")
    having = [f"{group}={option}" for option, fields in _fields_of_options(group) if field in fields]
    return f"{key}, which does not exist{', expected ' if having else ''}{' or '.join(having)}"


def _advice(key: str, missing: str, overrides: Sequence[str]) -> str:
    """Return advice about a key that no job has. `missing` is the key or the parent of it that does not exist.

    Returns "" if nothing resembles the key.
    """
    group, _, field = missing.partition(".")
    fields_of_options = dict(_fields_of_options(group))
    chosen = _chosen_options(group, overrides)
    having = [option for option, fields in fields_of_options.items() if field in fields]
    if having:
        more = f" and {len(having) - _MAX_OPTIONS} more" if len(having) > _MAX_OPTIONS else ""
        options = f"{', '.join(having[:_MAX_OPTIONS])}{more}"
        if len(chosen) == 1:
            return f"{key}: {group}={chosen[0]} does not have this field. Options that have it: {options}"
        return f"{key}: no chosen {group} has this field. Options that have it: {options}"
    chosen_fields = [f"{group}.{name}" for option in chosen for name in fields_of_options.get(option, ())]
    known = [
        *dotted_names(compose_config([])),
        *(f"{group}.{name}" for names in fields_of_options.values() for name in names),
    ]
    close = closest_name(key, chosen_fields) or closest_name(key, known)
    return f"{key}: unknown; did you mean {close}?" if close else ""


def _chosen_options(group: str, overrides: Sequence[str]) -> list[str]:
    """Return the options of a group that the overrides name; none for a default."""
    values = [each.partition("=")[2] for each in overrides if parse_override_key(each) == group]
    return values[-1].split(",") if values else []


def _fields_of_options(group: str) -> Iterator[tuple[str, Collection[str]]]:
    """Yield our options of a group with the dotted names of their fields; nothing for a name that is not a group."""
    folder = files("conf").joinpath(group)
    for file in sorted(folder.iterdir(), key=lambda file: file.name) if folder.is_dir() else ():
        if file.is_file() and file.name.endswith(".yaml"):
            option: Json = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
            # Fields that other options fill, such as "steps.light" in "/reranker@steps.light", are only named in the
            # YAML.
            parts = re.findall(r"@([\w.]+)", str(option.get("defaults", "")))
            yield file.name.removesuffix(".yaml"), {*dotted_names(option), *parts} - {"defaults", "_target_", "_here_"}


def dotted_names(node: Mapping[str, Json], above: str = "") -> Iterator[str]:
    """Yield the dotted names of all groups and fields."""
    for name, value in node.items():
        yield f"{above}{name}"
        if isinstance(value, Mapping):
            yield from dotted_names(value, f"{above}{name}.")
