"""Axes of a cell: the option of every group, settings that most sweeps vary, and all overrides."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files

import yaml
from hydra.core.utils import filter_overrides
from omegaconf import MISSING, DictConfig, OmegaConf

from components.json_value import Json
from runner.launch.request import settings_fields
from runner.pipeline.cell import Cell
from runner.pipeline.planned_cells import Job
from runner.results.cell_axes import normalize_level, parse_config_path, parse_override_key

Config = Mapping[str, Json]
_WITHOUT_SHARED = ("pipeline",)
"""Groups whose shared settings change no result, such as timeouts."""
_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def convert_job(config: DictConfig) -> Job:
    """Return a composed configuration (with its `hydra` node) as plain data, with its axes."""
    hydra = config.hydra
    plain = plain_config(config)
    choices: Json = OmegaConf.to_container(hydra.runtime.choices)
    task_overrides: Json = OmegaConf.to_container(hydra.overrides.task)
    overrides = tuple(filter_overrides(task_overrides))
    return Job(plain, name_axes(plain, choices, overrides), overrides)


def plain_config(config: DictConfig) -> dict[str, Json]:
    """Resolve a configuration, without the node `hydra`."""
    task = OmegaConf.masked_copy(config, [str(name) for name in config if name != "hydra"])
    fill_unset_fields(task)
    return {str(name): plain_part(task, str(name)) for name in task}


def fill_unset_fields(config: DictConfig) -> None:
    """Fill each field that an option leaves open (`???`) with the cell's component of that name, unless the user set
    it.

    `llm: ???` becomes `${llm}`. If the option itself contained that reference, a component chosen there
    (`+llm@expander.llm=openai`) would be merged with the cell's.
    """
    for path in _unset_paths(OmegaConf.to_container(config)):
        OmegaConf.update(config, path, f"${{{path.rpartition('.')[2]}}}")


def _unset_paths(node: Json, above: str = "") -> Iterator[str]:
    """Yield the dotted paths inside groups that have no value yet."""
    for name, value in node.items():
        if isinstance(value, Mapping):
            yield from _unset_paths(value, f"{above}{name}.")
        elif value == MISSING and above:
            yield f"{above}{name}"


def plain_part(config: DictConfig, name: str) -> Json:
    """Resolve the node of one top-level name."""
    node = config[name]
    return OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node


def name_axes(config: Config, choices: Mapping[str, str | None], overrides: Sequence[str]) -> dict[str, Json]:
    """Return the axes by name: groups in the order of the cell's fields, then `_named_settings`, then overrides.

    `config` is plain and resolved, `choices` are Hydra's (the option of every group), `overrides` are the cell's.
    """
    names = [*_named_settings(), *map(parse_override_key, overrides)]
    axes: dict[str, Json] = {group: choices[group] for group in _axis_fields() if group in choices}
    for name in names:
        path = parse_config_path(name)  # the name may be of an option for another place: "llm@judge.llm"
        if path.split(".")[0] in _axis_fields() and path not in choices:
            axes[path] = choices.get(name) or _axis_value(_select(config, path))
    return axes


@cache
def _axis_fields() -> tuple[str, ...]:
    """Return the fields of a cell that can be axes: all but the settings of the run."""
    return tuple(field.name for field in fields(Cell) if field.name not in settings_fields())


@cache
def _named_settings() -> tuple[str, ...]:
    """Return axes that every cell has, overridden or not, so that cells of several sweeps can be compared.

    They are the numbers and words that most classes of a role have, such as a chunker's size, and settings without a
    role, such as top_k.
    """
    groups = {folder.name for folder in files("conf").iterdir() if folder.is_dir()}
    with_shared = [group for group in _axis_fields() if group in groups and group not in _WITHOUT_SHARED]
    shared = [f"{group}.{name}" for group in with_shared for name in _shared_fields(group)]
    return (*shared, *(name for name in _axis_fields() if name not in groups))


def _shared_fields(group: str) -> list[str]:
    """Return the fields that most classes of a role have; none for a role with a single class.

    A field that an option leaves open ("") is ignored. Such fields are paths and names of models, which the option
    implies.
    """
    by_class: dict[str, Config] = {}
    for file in files("conf").joinpath(group).iterdir():
        if not file.is_file():  # a folder is a group within the group
            continue
        option: Json = yaml.load(file.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a safe one
        if "_target_" in option:
            by_class[option["_target_"]] = option
    n_with = Counter(
        name
        for option in by_class.values()
        for name, value in option.items()
        if name != "_target_" and value != "" and not isinstance(value, dict | list)
    )
    return [name for name, n in n_with.items() if len(by_class) > 1 and 2 * n > len(by_class)]


def _select(config: Config, path: str) -> Json:
    """Return the value at a dotted path. None if the path does not exist, for example after a deletion."""
    value: Json = config
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _axis_value(value: Json) -> Json:
    """Return a value for an axis. For a component, this is the name of its class, which is short enough to read."""
    is_component = isinstance(value, Mapping) and "_target_" in value
    return value["_target_"].rpartition(".")[2] if is_component else normalize_level(value)
