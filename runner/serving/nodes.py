"""The nodes of a configuration, as those of an exported pipeline differ from those of the sweep."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from components.datasets.left_behind import LeftBehind
from components.json_value import Json
from components.pretrained.model_folder import FOLDER_FIELDS, local_folder

_ALARM = "max_share_without_hits"
"""The field of an index that fails a search which finds nothing for many queries: one question may find nothing."""


def model_paths(nodes: Mapping[str, Json]) -> Iterator[tuple[str, Path]]:
    """The places in a configuration ("retriever.embedder.model") that name a folder from which a model is loaded. A
    model behind a server may be called like a folder of this machine, and is no such.
    """
    for place, node in _mappings(nodes, ""):
        if hasattr(_class_of(node), "content_hash"):
            for name in FOLDER_FIELDS:
                value = node.get(name)
                path = local_folder(value) if isinstance(value, str) else None
                if path is not None:
                    yield f"{place}.{name}", path


def with_model_folders(nodes: Mapping[str, Json], names: Mapping[str, str], folder: Path) -> dict[str, Json]:
    """The configuration with the folders that lie in `folder`; `names` are theirs by place."""

    def change(place: str, value: Json) -> Json:
        return str((folder / names[place]).absolute()) if place in names else value

    return {name: _changed(node, name, change) for name, node in nodes.items()}


def without_data_sets(nodes: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration without the places of data sets, which are not where the pipeline is: of those that hold the
    examples of prompts nothing is left but a name.
    """

    def change(place: str, value: Json) -> Json:
        if isinstance(value, Mapping) and hasattr(_class_of(value), "fingerprint"):
            return {"_target_": f"{LeftBehind.__module__}.{LeftBehind.__qualname__}", "name": place}
        return value

    return {name: _changed(node, name, change) for name, node in nodes.items()}


def without_alarms(nodes: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration for questions that may find nothing."""

    def change(place: str, value: Json) -> Json:
        if isinstance(value, Mapping) and _ALARM in {own.name for own in _fields_of(_class_of(value))}:
            return {**value, _ALARM: 1.0}
        return value

    return {name: _changed(node, name, change) for name, node in nodes.items()}


def _class_of(node: Mapping[str, Json]) -> type | None:
    """Of the component; None for a mapping that is none. The configuration was checked before."""
    target = node.get("_target_")
    if not isinstance(target, str):
        return None
    module, _, name = target.rpartition(".")
    found: type = getattr(import_module(module), name)
    return found


def _fields_of(cls: type | None) -> tuple[Json, ...]:
    return fields(cls) if cls else ()


def _mappings(node: Json, place: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """All mappings within, with their places; numbers stand for places in lists."""
    if isinstance(node, Mapping):
        yield place, node
        for name, value in node.items():
            yield from _mappings(value, f"{place}.{name}".lstrip("."))
    elif isinstance(node, list | tuple):
        for number, value in enumerate(node):
            yield from _mappings(value, f"{place}.{number}")


def _changed(node: Json, place: str, change: Callable[[str, Json], Json]) -> Json:
    """The node with all that is in it changed, from the inside out."""
    if isinstance(node, Mapping):
        node = {name: _changed(value, f"{place}.{name}", change) for name, value in node.items()}
    elif isinstance(node, list | tuple):
        node = [_changed(value, f"{place}.{number}", change) for number, value in enumerate(node)]
    return change(place, node)
