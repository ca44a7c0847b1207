"""Builds typed components from a resolved configuration. Checks everything first, and reports all errors together.

`_target_` names a component, an executor or a class of a package listed in `run.plugins`. A configuration runs no other
code. `hydra_code` enforces the same for Hydra's nodes. A node is compared with the dataclass that its `_target_` names,
in both directions. A key that is not a field is an error, and so is a field that has neither key nor default. Values
are coerced to the type of the field.
"""

import dataclasses
import importlib
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Protocol, get_args, get_origin, get_type_hints

from components.errors import ComponentError, ConfigError
from components.fields import is_user_code_field
from components.json_value import Json
from components.limits import expected_one_of
from components.protocols import Pipeline, ThreeWayEncoder
from components.secrets.mask import shorten_masked
from components.user_code.calls import format_exception
from runner.engine.broken_contracts import class_name, name_class_in_errors
from runner.engine.executors.protocol import Executor
from runner.engine.plugins.named_code import remedy, top_package
from runner.engine.plugins.plugin_loading import code_class, ensure_loaded
from runner.engine.plugins.trusted_packages import is_within
from runner.engine.source_code import has_code, has_own_name
from runner.pipeline.cell import Cell
from runner.pipeline.component_conflicts import combination_problems

_ROOT = "components"
_ROOTS_BY_KIND: Mapping[type, str] = {Executor: "runner.engine.executors"}
"""Packages with the classes of a kind that is not a role of the pipeline."""
_MAX_QUOTED_CHARACTERS = 300
"""Maximum number of characters of a value that an error quotes."""
_OPTIONS: Mapping[type, str] = {ThreeWayEncoder: ". Choose an embedder that has them: embedder=bge-m3-heads"}
"""Overrides to suggest for a kind that only a few options of a group implement."""
_PRIMITIVES = (bool, int, float, str)
_NUMBERS = re.compile(r"[-\d.]+(\s+[-\d.]+)+")
_UNUSABLE = re.compile(r"[\x00\ud800-\udfff]")
"""NUL, which no path may contain, and surrogates, which UTF-8 cannot encode.

A command-line argument has a surrogate for each byte that is not UTF-8.
"""
_MAX_WHOLE_NUMBER = 2**63 - 1
"""Largest whole number that arrays and files can hold."""

Annotation = Any  # the type of a field, as `get_type_hints` returns it: a class, a union, a tuple of ...
BuiltObject = Any  # the object built from a node, of the type that its annotation names


class _InvalidValue(Exception):
    """A value that cannot be built. Its errors are already in the list."""


def build_cell(config: Mapping[str, Json]) -> Cell:
    """Build the components of one cell from a plain, resolved configuration.

    Raises ConfigError with every error found.
    """
    return CellBuilder().build(config)


_COMBINED_FIELDS = (
    "top_k",
    "retriever",
    "expander",
    "iterative",
    "generator",
    "llm",
    "history",
    "compressor",
    "reviser",
    "refiner",
    "header",
    "reranker",
    "metrics",
    "repeat",
    "judge_repeat",
    "pipeline",
)


class CellBuilder:
    """Builds the cells of a sweep. They share most of their parts, and equal parts are built once."""

    def __init__(self) -> None:
        self._built: dict[str, BuiltObject] = {}

    def build(self, config: Mapping[str, Json]) -> Cell:
        """Build one cell: see `build_cell`."""
        builder = _Builder(read_plugins(config), self._built)
        values = builder.field_values(Cell, config, "")
        problems = [
            *builder.problems,
            *combination_problems(**{name: values.get(name) for name in _COMBINED_FIELDS}),
        ]
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))
        return Cell(**values)


def build_component(node: Mapping[str, Json], expected: type, path: str, plugins: Sequence[str] = ()) -> BuiltObject:
    """Build one component that satisfies the protocol `expected`. `path` is the node's path in the configuration.

    The node may name classes of this project and of the packages in `plugins` (see `read_plugins`). Raises ConfigError
    with all errors in the node: unknown fields, wrong types, other classes.
    """
    builder = _Builder(plugins)
    component = builder.build(node, expected, path)
    if builder.problems:
        raise ConfigError(list(dict.fromkeys(builder.problems)))
    return component


def read_plugins(config: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the packages that `run.plugins` of a configuration names.

    Returns () if the entry is malformed: building the cell reports that.
    """
    run = config.get("run")
    plugins = run.get("plugins") if isinstance(run, Mapping) else ()
    return tuple(name for name in plugins if isinstance(name, str)) if isinstance(plugins, list | tuple) else ()


class _Builder:
    """Collects errors, each with the path of the key that it concerns.

    `built` caches components by their path and their node.
    """

    def __init__(self, plugins: Sequence[str] = (), built: dict[str, BuiltObject] | None = None) -> None:
        self.problems: list[str] = []
        self._built = {} if built is None else built
        self._plugins = tuple(plugins)
        self._packages_refused: set[str] = set()

    def build(self, value: Json, expected: Annotation, path: str) -> BuiltObject:
        """Return `value` as the type `expected`. If it is invalid, return None and add the errors to `problems`."""
        try:
            return self._build(value, expected, path)
        except _InvalidValue:
            return None

    def _build(self, value: Json, expected: Annotation, path: str) -> BuiltObject:
        origin: Annotation = get_origin(expected)
        items = get_args(expected)
        if origin in (typing.Union, types.UnionType):
            return self._optional(value, items, path)
        if origin is tuple and items:
            return self._tuple(value, items[0], path)
        if origin in (dict, Mapping) and items:
            if not isinstance(value, Mapping):
                raise self._refuse(path, value, "a mapping")
            return {str(key): self.build(item, items[1], f"{path}.{key}") for key, item in value.items()}
        if isinstance(expected, type) and issubclass(expected, Enum):
            return self._enum(value, expected, path)
        if expected in _PRIMITIVES:
            return self._primitive(value, expected, path)
        if not isinstance(expected, type) or expected.__module__ in ("builtins", "typing"):  # `dict`, `Any`
            return self._unreadable(expected, path)
        return self._component(value, (expected,), path)

    def _unreadable(self, expected: Annotation, path: str) -> BuiltObject:
        """Report a type that YAML cannot express. Only custom classes have such types."""
        self.problems.append(
            f"{path}: its class declares the type {expected}, which YAML cannot express; expected: bool, int, "
            "float, str, an Enum, tuple[X, ...], Mapping[str, X], X | None, a frozen dataclass or a protocol"
        )
        raise _InvalidValue

    def _refuse(self, path: str, value: Json, expected: str) -> _InvalidValue:
        got = shorten_masked(repr(value), _MAX_QUOTED_CHARACTERS)
        self.problems.append(f"{path}: got {got} ({type(value).__name__}), expected {expected}")
        return _InvalidValue()

    def _optional(self, value: Json, options: tuple[Annotation, ...], path: str) -> BuiltObject:
        if value is None and type(None) in options:
            return None
        expected, *others = [option for option in options if option is not type(None)]
        if others and expected in _PRIMITIVES:
            return self._validate_plain(value, (expected, *others), path)
        return self._component(value, (expected, *others), path) if others else self._build(value, expected, path)

    def _validate_plain(self, value: Json, options: tuple[Annotation, ...], path: str) -> Json:
        """Return a plain value unchanged if it has one of the types."""
        if type(value) in options:
            return self._primitive(value, type(value), path)
        raise self._refuse(path, value, " or ".join(_type_name(option) for option in options))

    def _tuple(self, value: Json, item: Annotation, path: str) -> tuple[Json, ...]:
        if not isinstance(value, list | tuple):
            raise self._refuse(path, value, f"a list of {_type_name(item)}, e.g. [{value}]")
        return tuple(self.build(each, item, f"{path}[{i}]") for i, each in enumerate(value))

    def _enum(self, value: Json, expected: type[Enum], path: str) -> Enum:
        for member in expected:
            if value in (member.value, member):
                return member
        raise self._refuse(path, value, f"one of {', '.join(str(member.value) for member in expected)}")

    def _primitive(self, value: Json, expected: type, path: str) -> BuiltObject:
        if expected is float and type(value) is int and abs(value) <= sys.float_info.max:
            return float(value)
        if type(value) is not expected or (isinstance(value, float) and not math.isfinite(value)):
            raise self._refuse(path, value, _type_name(expected) + _hint(value, path))
        if isinstance(value, int) and abs(value) > _MAX_WHOLE_NUMBER:
            raise self._refuse(path, value, f"a whole number of at most {_MAX_WHOLE_NUMBER}")
        if isinstance(value, str) and _UNUSABLE.search(value):
            raise self._refuse(path, value, "text in UTF-8 without NUL characters. Rename a file that has such a name.")
        return value

    def _component(self, node: Json, kinds: Sequence[type], path: str) -> BuiltObject:
        """Build a component of one of the kinds. Only protocols come as several kinds."""
        written = f"{path}: {node!r}"
        if written in self._built:
            return self._built[written]
        component = self._check_and_build(node, kinds, path)
        if not self.problems:  # errors have to be reported for every cell
            self._built[written] = component
        return component

    def _check_and_build(self, node: Json, kinds: Sequence[type], path: str) -> BuiltObject:
        expected = kinds[0]
        if not isinstance(node, Mapping):
            raise self._refuse(path or "the configuration", node, f"a mapping for {_names(kinds)}")
        is_settings = dataclasses.is_dataclass(expected) and "_target_" not in node
        cls = expected if is_settings else self._class(node, expected, path)
        component = self._construct(cls, node, path)
        try:
            with name_class_in_errors(
                component, "a property or check() failed", "Fix the class", passing=_InvalidValue
            ):
                self._check(component, kinds, node, path)
        except ComponentError as error:
            self.problems.append(f"{path}: {error}")
            raise _InvalidValue from error
        return component

    def _check(self, component: BuiltObject, kinds: Sequence[type], node: Mapping[str, Json], path: str) -> None:
        """Check that a component has the members of its kind, and add the errors that it finds in its fields."""
        nearest = max(kinds, key=lambda kind: (not _missing_members(component, kind), _n_shared(component, kind)))
        if "_target_" in node and (missing := _missing_members(component, nearest)):
            kind_text = f" of a {nearest.__name__}" if len(kinds) > 1 else ""
            name = type(component).__name__
            what = f"a {_names(kinds)}, but {name} lacks {', '.join(missing)}{kind_text}{_OPTIONS.get(nearest, '')}"
            raise self._refuse(f"{path}._target_", node["_target_"], what)
        if Pipeline not in kinds and isinstance(component, Pipeline):  # a pipeline has all members of a language model
            what = f"a {_names(kinds)}, but {type(component).__name__} is a pipeline, which pipeline._target_ chooses"
            raise self._refuse(f"{path}._target_", node.get("_target_"), what)
        try:
            self.problems += [_with_path(path, problem) for problem in getattr(component, "check", list)()]
            owner = code_class(component)
            if owner is not type(component) and not (has_code(owner) or self.problems):
                what = "code in a file, e.g. my_package/rag.py: the cache would not notice an edit of this one"
                raise self._refuse(path, f"{owner.__module__}", what)
        except OSError as error:  # `check` looks for a path, and a model's name may be too long for one
            name = shorten_masked(repr(error.filename), _MAX_QUOTED_CHARACTERS)
            self.problems.append(f"{path}: cannot look for {name}: {error.strerror}")

    def _class(self, node: Mapping[str, Json], expected: type, path: str) -> type:
        target = node.get("_target_")
        roots = (_ROOTS_BY_KIND.get(expected, _ROOT), *self._plugins)
        if not isinstance(target, str) or not is_within(target, roots):
            raise self._refuse_package(target, roots, path)
        module, _, name = target.rpartition(".")
        try:
            ensure_loaded(self._plugins)
            cls = getattr(importlib.import_module(module), name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a custom module may raise anything
            what = f"a class that can be imported ({format_exception(error)})"
            raise self._refuse(f"{path}._target_", target, what) from error
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls) and _is_frozen(cls)):
            raise self._refuse(f"{path}._target_", target, "a frozen dataclass")
        if not has_code(cls):
            what = "a class in a file, e.g. my_package/parts.py: the cache would not notice an edit of this one"
            raise self._refuse(f"{path}._target_", target, what)
        if not has_own_name(cls):
            what = (
                f"a class that its module defines under its name, but this one is {class_name(cls)}, a name that "
                f"others may share: derive a class from it (@dataclass(frozen=True) class {name}(...)), or let the "
                "decorator that made it copy __module__ and __qualname__"
            )
            raise self._refuse(f"{path}._target_", target, what)
        return cls

    def _refuse_package(self, target: Json, allowed: Sequence[str], path: str) -> _InvalidValue:
        """Report a class of an unknown package, once per package: its other classes need the same remedy."""
        package = top_package(target)
        if package in self._packages_refused:
            return _InvalidValue()
        self._packages_refused |= {package} if package else set()
        roots = ", ".join(f"{root}.*" for root in allowed)
        return self._refuse(f"{path}._target_", target, f"the dotted path of a class under {roots}{remedy(target)}")

    def _construct(self, cls: type, node: Mapping[str, Json], path: str) -> BuiltObject:
        n_before = len(self.problems)
        self._require_plugins(cls, node, path)
        values = self.field_values(cls, node, path)
        if len(self.problems) > n_before:
            raise _InvalidValue
        try:
            return cls(**values)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a custom class may raise; classes of this project have a `check` instead
            cause = str(error) if type(error) in (TypeError, ValueError) else format_exception(error)
            self.problems.append(f"{path}: {cls.__name__} cannot be built from these values: {cause}")
            raise _InvalidValue from error

    def _require_plugins(self, cls: type, node: Mapping[str, Json], path: str) -> None:
        """Report code that a field of a component names outside `run.plugins`. The component would import it."""
        for name in [field.name for field in dataclasses.fields(cls) if is_user_code_field(field)]:
            value = node.get(name)
            if not is_within(value.replace(":", ".") if isinstance(value, str) else value, self._plugins):
                raise self._refuse(f"{path}.{name}", value, f"a dotted path in a package of run.plugins{remedy(value)}")
            ensure_loaded(self._plugins)

    def field_values(self, cls: type, node: Mapping[str, Json], path: str) -> dict[str, Json]:
        """Build the fields of a dataclass from the keys of a node, adding all errors to `problems`."""
        prefix = f"{path}." if path else ""
        fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
        for key in [str(key) for key in node if key != "_target_" and key not in fields]:
            expected = expected_one_of(key, fields) if fields else f", but {cls.__name__} has no fields"
            self.problems.append(f"{prefix}{key}: unknown{expected}")
        hints = _read_types(cls)
        for name, field in fields.items():
            if name not in node and not _has_default(field):
                self.problems.append(f"{prefix}{name}: missing, expected {_type_name(hints[name])}")
        return {name: self.build(node[name], hints[name], f"{prefix}{name}") for name in fields if name in node}


@cache
def _read_types(cls: type) -> dict[str, Annotation]:
    return get_type_hints(cls)


def _has_default(field: "dataclasses.Field[object]") -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _is_frozen(cls: type) -> bool:
    return bool(cls.__dataclass_params__.frozen)  # type: ignore[attr-defined]  # every dataclass has these parameters


def _with_path(path: str, problem: str) -> str:
    """Prefix an error of a component with its path. It concerns a field ("depth: got 0") or the component ("... needs
    ...").
    """
    if not path:
        return problem
    is_of_a_field = problem.split(maxsplit=1)[0].endswith(":")
    return f"{path}.{problem}" if is_of_a_field else f"{path}: {problem}"


def _missing_members(component: object, expected: type) -> list[str]:
    """Return the members of the protocol `expected` that a component lacks, or the base class that it does not have."""
    if not getattr(expected, "_is_protocol", False):
        return [] if isinstance(component, expected) else [f"the base class {expected.__name__}"]
    return [name for name in list_members(expected) if not hasattr(component, name)]


def _n_shared(component: object, expected: type) -> int:
    return sum(hasattr(component, name) for name in list_members(expected))


def list_members(protocol: type) -> list[str]:
    """Return the public members that a protocol and the protocols above it declare."""
    protocols = [
        cls for cls in reversed(protocol.__mro__) if getattr(cls, "_is_protocol", False) and cls is not Protocol
    ]
    names = dict.fromkeys(name for cls in protocols for name in (*inspect.get_annotations(cls), *vars(cls)))
    return [name for name in names if not name.startswith("_")]


def _names(kinds: Sequence[type]) -> str:
    return " or ".join(kind.__name__ for kind in kinds)


def _hint(value: Json, path: str) -> str:
    """Return a hint about a string in place of a number, which may be meant as several values or an interval."""
    if not isinstance(value, str) or not path:
        return ""
    if value.startswith("interval("):
        return f"; a grid takes no intervals: list the values, as in {path}=64,128"
    if not _NUMBERS.fullmatch(value):
        return ""
    return f"; separate several values by commas, without spaces: {path}={','.join(value.split())}"


def _type_name(expected: Annotation) -> str:
    names = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
    return names.get(expected) or str(getattr(expected, "__name__", expected))
