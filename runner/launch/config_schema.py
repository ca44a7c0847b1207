"""A JSON Schema of the configuration, for editors and checks before a run.

The schema describes the files that users write: presets, whole configurations, and options of a group. Nodes may be
partial, because Hydra merges them with other files. A node with `_target_` has the fields of its class. A node without
it has the fields of one class that is allowed there. Types, defaults and enumerations come from the dataclasses.
Descriptions come from the comments of `conf/`, else from the docstrings of fields.
"""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import yaml

import components
import runner.engine.executors
from components.errors import ConfigError
from components.json_value import Json
from components.limits import expected_one_of
from runner.engine.executors.protocol import Executor
from runner.launch.grid_sweeper import SweeperSettings
from runner.launch.option_names import option_names
from runner.pipeline.building import list_members
from runner.pipeline.cell import Cell

Schema = dict[str, Json]
Annotation = Any  # the type of a field, as `get_type_hints` returns it

_DRAFT = "http://json-schema.org/draft-07/schema#"
_PLAIN: Mapping[type, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}
_REFERENCE: Schema = {
    "description": "A value that Hydra fills in, such as ${language.words} or ???.",
    "type": "string",
    "pattern": r"\$\{|^\?\?\?$",
}
_PLUGIN_CLASS_SCHEMA: Schema = {
    "description": "A class of one of your packages in run.plugins.",
    "type": "string",
    "not": {"pattern": r"^(components|runner)\."},
}
_ENTRY = r"^(override |optional )*/?"
"""The start of a key in a list `defaults`, before the name of the group."""


def config_schema(group: str = "", own_options: Path | None = None) -> Schema:
    """Return the schema of presets and whole configurations, or of the options of one group.

    `own_options` is a folder with options in Hydra's layout, which the schema then accepts in `defaults`. Raises
    ConfigError for an unknown group or a missing folder.
    """
    kinds = get_type_hints(Cell)
    options = _options(own_options)
    if group and group not in options:
        raise ConfigError(f"group: got {group!r}{expected_one_of(group, sorted(options))}")
    writer = _Writer()
    body = _option_schema(writer, kinds[group], options) if group else _preset_schema(writer, options)
    title = f"rag-grid: an option of the group {group}" if group else "rag-grid: a preset or a configuration"
    return {"$schema": _DRAFT, "title": title, **body, "$defs": dict(sorted(writer.definitions.items()))}


def _preset_schema(writer: "_Writer", options: Mapping[str, Sequence[str]]) -> Schema:
    properties = writer.describe_properties(Cell)
    for name, node in properties.items():
        if name in options:
            node["description"] = f"Options: {', '.join(options[name])}."
    return {
        "type": "object",
        "properties": {
            "defaults": _defaults(options),
            **properties,
            "hydra": {
                "description": "Settings of Hydra. `sweeper` has the axes of a sweep.",
                "type": "object",
                "properties": {"sweeper": _sweeper(writer)},
            },
        },
        "additionalProperties": False,
    }


def _option_schema(writer: "_Writer", kind: Annotation, options: Mapping[str, Sequence[str]]) -> Schema:
    defaults = {"defaults": _defaults(options)}
    nodes = {_dotted_path(cls): writer.describe_node(cls, defaults) for cls in _find_classes(kind)}
    return _any_class_schema(nodes, is_open=any(map(_is_protocol, _list_kinds(kind))))


def _sweeper(writer: "_Writer") -> Schema:
    node = writer.describe_node(SweeperSettings, {})
    values = {"type": ["string", "number", "boolean", "null"]}
    node["properties"]["params"] = {
        "description": "Axes by the name of a group or setting, each with its values: chunk.size: 64,128",
        "type": "object",
        "additionalProperties": values,
    }
    return node


def _defaults(options: Mapping[str, Sequence[str]]) -> Schema:
    """Return the schema of a list `defaults`: options of each group, and names of presets."""
    one = {
        rf"{_ENTRY}{group}(@.*)?$": {"anyOf": [{"enum": [*names, None]}, {"$ref": "#/$defs/reference"}]}
        for group, names in sorted(options.items())
    }
    return {
        "description": "Options and presets that this file builds on, e.g. - override /chunk: sentence",
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "object", "patternProperties": one}]},
    }


def _options(config_dir: Path | None) -> dict[str, list[str]]:
    """Return the options of each group, own ones included."""
    if config_dir is not None and not config_dir.is_dir():
        raise ConfigError(
            f"--config-dir: {config_dir} is not a folder, expected one with options, e.g. my_conf/chunk/mine.yaml"
        )
    groups = [name for name in get_type_hints(Cell) if files("conf").joinpath(name).is_dir()]
    folders = [files("conf"), *([config_dir] if config_dir else [])]
    return {
        group: sorted({name for folder in folders for name in option_names(folder.joinpath(group))}) for group in groups
    }


class _Writer:
    """Writes schemas of annotations, and collects the schemas of classes and protocols in `definitions`."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {"reference": _REFERENCE}

    def describe_properties(self, cls: type) -> dict[str, Schema]:
        """Return the schema of every field of a dataclass."""
        hints = get_type_hints(cls)
        fields = [field for field in dataclasses.fields(cls) if field.init]
        return {
            field.name: {**_describe_field(cls, field), **self._build_schema(hints[field.name])} for field in fields
        }

    def describe_node(self, cls: type, more: Mapping[str, Json]) -> Schema:
        """Return the schema of a node of a class, with `more` properties. All fields may be missing."""
        target = {"_target_": {"const": _dotted_path(cls)}}
        return {
            "description": _first_paragraph(cls),
            "type": "object",
            "properties": {**more, **target, **self.describe_properties(cls)},
            "additionalProperties": False,
        }

    def _build_schema(self, kind: Annotation) -> Schema:
        """Return the schema of an annotation. Hydra may fill in any value that is not a string."""
        if kind is str:
            return {"type": "string"}
        options = _list_kinds(kind)
        components = tuple(each for each in options if _is_node(each))
        plain = [self._value_schema(each) for each in options if each not in components]
        nodes = [self._build_reference(components)] if components else []
        return {"anyOf": [*plain, *nodes, {"$ref": "#/$defs/reference"}]}

    def _value_schema(self, kind: Annotation) -> Schema:
        if kind is type(None):
            return {"type": "null"}
        origin: Annotation = get_origin(kind)
        if origin in (tuple, list):
            return {"type": "array", "items": self._build_schema(get_args(kind)[0])}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self._build_schema(get_args(kind)[1])}
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {"enum": [member.value for member in kind]}
        return _PLAIN.get(kind, {"type": "string"})

    def _build_reference(self, kinds: Sequence[type]) -> Schema:
        """Return a reference to the definition of a node that has one of these kinds."""
        name = "_or_".join(kind.__name__ for kind in kinds)
        if name not in self.definitions:
            self.definitions[name] = {}  # classes may contain components of their own kind
            nodes = {_dotted_path(cls): self._reference_to_class(cls) for kind in kinds for cls in _find_classes(kind)}
            self.definitions[name] |= _any_class_schema(nodes, is_open=any(map(_is_protocol, kinds)))
        return {"$ref": f"#/$defs/{name}"}

    def _reference_to_class(self, cls: type) -> Schema:
        name = _dotted_path(cls)
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] |= self.describe_node(cls, {})
        return {"$ref": f"#/$defs/{name}"}


def _any_class_schema(nodes: Mapping[str, Schema], *, is_open: bool) -> Schema:
    """Return the schema of a node of one of these classes, by their paths; `is_open` accepts classes of plugins.

    A node with `_target_` is compared with that class only. So errors concern its fields, and comparing is fast.
    """
    named = {"enum": list(nodes)}
    return {
        "type": "object",
        "properties": {"_target_": {"anyOf": [named, _PLUGIN_CLASS_SCHEMA]} if is_open else named},
        "if": {"required": ["_target_"]},
        "then": {"allOf": [{"if": _target_schema(path), "then": node} for path, node in nodes.items()]},
        "else": {"anyOf": list(nodes.values())},
    }


def _target_schema(path: str) -> Schema:
    return {"properties": {"_target_": {"const": path}}}


def _dotted_path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _list_kinds(kind: Annotation) -> tuple[Annotation, ...]:
    """Return the types of a union, or the type itself."""
    origin: Annotation = get_origin(kind)
    return get_args(kind) if origin in (typing.Union, types.UnionType) else (kind,)


def _is_node(kind: Annotation) -> bool:
    """Return True if a value of this type is a node with fields."""
    is_class = isinstance(kind, type) and get_origin(kind) is None
    return is_class and not issubclass(kind, Enum | types.NoneType) and kind not in (*_PLAIN, str)


def _find_classes(kind: Annotation) -> list[type]:
    """Return the classes that a node of this kind may name: the settings themselves, or the components of a role."""
    classes: list[type] = []
    for each in _list_kinds(kind):
        candidates = _executors() if each is Executor else _components()
        classes += [cls for cls in candidates if _implements(cls, each)] if _is_protocol(each) else [each]
    return list(dict.fromkeys(classes))


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _implements(cls: type, protocol: type) -> bool:
    """Return True if a class has all members of a protocol, methods with as many parameters."""
    return all(name in _list_members(cls) and _agrees(cls, protocol, name) for name in list_members(protocol))


def _agrees(cls: type, protocol: type, name: str) -> bool:
    declared, actual = getattr(protocol, name, None), getattr(cls, name, None)
    if inspect.isfunction(declared) and inspect.isfunction(actual):
        return len(inspect.signature(declared).parameters) == len(inspect.signature(actual).parameters)
    origins = {_container(each, name) for each in (protocol, cls)} - {None}
    return len(origins) < 2


def _container(cls: type, name: str) -> type | None:
    """Return the container that a member is declared to be, e.g. a tuple; None for other members."""
    member = getattr(cls, name, None)
    kind = get_type_hints(member.fget).get("return") if isinstance(member, property) else get_type_hints(cls).get(name)
    kind = get_args(kind)[0] if get_origin(kind) is typing.ClassVar else kind
    return get_origin(kind) if get_origin(kind) in (tuple, dict, Mapping) else None


@cache
def _components() -> list[type]:
    return [cls for cls in _list_dataclasses(components) if not cls.__module__.startswith("components.testset.")]


@cache
def _executors() -> list[type]:
    return _list_dataclasses(runner.engine.executors)


def _list_dataclasses(package: types.ModuleType) -> list[type]:
    """Return the dataclasses of a package that a configuration may name."""
    names = [entry.name for entry in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    classes = [(name, cls) for name in names for cls in vars(importlib.import_module(name)).values()]
    return [
        cls
        for name, cls in classes
        if isinstance(cls, type) and cls.__module__ == name and dataclasses.is_dataclass(cls) and cls.__name__[0] != "_"
    ]


@cache
def _list_members(cls: type) -> frozenset[str]:
    """Return the members that an object of a dataclass has."""
    return frozenset({*dir(cls), *(field.name for field in dataclasses.fields(cls))})


def _describe_field(cls: type, field: "dataclasses.Field[object]") -> Schema:
    """Return the description and the default of a field, if it has them."""
    text = _comments().get((cls, field.name)) or _field_docstrings(cls).get(field.name, "")
    default = field.default.value if isinstance(field.default, Enum) else field.default
    is_plain = default is None or isinstance(default, bool | int | float | str)
    return {**({"description": text} if text else {}), **({"default": default} if is_plain else {})}


def _first_paragraph(cls: type) -> str:
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


@cache
def _field_docstrings(cls: type) -> Mapping[str, str]:
    """Return the strings that follow fields in the source of a class, by the names of the fields."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


@cache
def _comments() -> Mapping[tuple[type, str], str]:
    """Return the comments on fields in `conf/`, by class and field. The first file that has one is used."""
    classes = {_dotted_path(cls): cls for cls in (*_components(), *_executors())}
    kinds = get_type_hints(Cell)
    comments: dict[tuple[type, str], str] = {}
    for path in ["config.yaml", *(f"{group}/{name}.yaml" for group, names in _options(None).items() for name in names)]:
        text = files("conf").joinpath(path).read_text(encoding="utf-8")
        cls = Cell if path == "config.yaml" else kinds[path.partition("/")[0]]
        for key, comment in _find_comments(yaml.compose(text), text.splitlines(), cls, classes):
            comments.setdefault(key, comment)
    return comments


def _find_comments(
    node: Any, lines: Sequence[str], kind: Annotation, classes: Mapping[str, type]
) -> Iterator[tuple[tuple[type, str], str]]:
    """Yield the comments on the fields of a node and of the nodes below. `kind` is the type of the node."""
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        return
    targets = [value.value for key, value in node.value if key.value == "_target_"]
    cls = classes.get(targets[0]) if targets else kind if dataclasses.is_dataclass(kind) else None
    hints = get_type_hints(cls) if cls else {}
    for key, value in node.value:
        end = value.end_mark if value.end_mark.line == key.start_mark.line else key.end_mark
        comment = re.match(r":?\s+# (.*)", lines[key.start_mark.line][end.column :])
        if isinstance(cls, type) and key.value in hints and comment and not comment[1].startswith("..."):
            yield (cls, key.value), comment[1]
        yield from _find_comments(value, lines, hints.get(key.value), classes)
