"""Turns configuration nodes of a sweep into nodes of an exported pipeline."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from components.datasets.left_behind import LeftBehind
from components.json_value import Json
from components.pretrained.model_folder import FOLDER_FIELDS, local_folder
from runner.pipeline.search.sparse_search import MAX_SHARE_FIELD


def model_paths(nodes: Mapping[str, Json]) -> Iterator[tuple[str, Path]]:
    """Yield the configuration paths ("retriever.embedder.model") that name a local folder of a model, and the
    folders.

    A model behind a server is not one, even if a local folder has the same name.
    """
    for location, node in _mappings(nodes, ""):
        if hasattr(find_class(node), "content_hash"):
            for name in FOLDER_FIELDS:
                value = node.get(name)
                path = local_folder(value) if isinstance(value, str) else None
                if path is not None:
                    yield f"{location}.{name}", path


def with_model_folders(nodes: Mapping[str, Json], names: Mapping[str, str], folder: Path) -> dict[str, Json]:
    """Return the configuration with the models in `folder`; `names` maps configuration paths to the names of these
    models.
    """

    def change(location: str, value: Json) -> Json:
        return str((folder / names[location]).absolute()) if location in names else value

    return {name: _transform(node, name, change) for name, node in nodes.items()}


def without_data_sets(nodes: Mapping[str, Json]) -> dict[str, Json]:
    """Return the configuration without the paths of data sets, which an export does not contain. A data set of examples
    becomes its name.
    """

    def change(location: str, value: Json) -> Json:
        if isinstance(value, Mapping) and hasattr(find_class(value), "fingerprint"):
            return {"_target_": f"{LeftBehind.__module__}.{LeftBehind.__qualname__}", "name": location}
        return value

    return {name: _transform(node, name, change) for name, node in nodes.items()}


def without_alarms(nodes: Mapping[str, Json]) -> dict[str, Json]:
    """Return the configuration for questions that may find nothing."""

    def change(location: str, value: Json) -> Json:
        if isinstance(value, Mapping) and MAX_SHARE_FIELD in {
            member.name for member in _list_fields(find_class(value))
        }:
            return {**value, MAX_SHARE_FIELD: 1.0}
        return value

    return {name: _transform(node, name, change) for name, node in nodes.items()}


def find_class(node: Mapping[str, Json]) -> type | None:
    """Return the class of a component, None for another mapping. The configuration must be checked or trusted."""
    target = node.get("_target_")
    if not isinstance(target, str):
        return None
    module, _, name = target.rpartition(".")
    cls: type = getattr(import_module(module), name)
    return cls


def _list_fields(cls: type | None) -> tuple[Json, ...]:
    return fields(cls) if cls else ()


def _mappings(node: Json, location: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield all mappings in the node with their configuration paths. Numbers in a path are list indices."""
    if isinstance(node, Mapping):
        yield location, node
        for name, value in node.items():
            yield from _mappings(value, f"{location}.{name}".lstrip("."))
    elif isinstance(node, list | tuple):
        for number, value in enumerate(node):
            yield from _mappings(value, f"{location}.{number}")


def _transform(node: Json, location: str, change: Callable[[str, Json], Json]) -> Json:
    """Return the node with everything in it changed, innermost values first."""
    if isinstance(node, Mapping):
        node = {name: _transform(value, f"{location}.{name}", change) for name, value in node.items()}
    elif isinstance(node, list | tuple):
        node = [_transform(value, f"{location}.{number}", change) for number, value in enumerate(node)]
    return change(location, node)
