"""Checks values from JSON against the annotations of a record."""

import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from components.json_value import Json

_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


class _Kind(NamedTuple):
    """Types that a value may have, None for any. `items` is the annotation of its items."""

    types: tuple[type, ...] | None
    items: object = Any


def require_types(fields: Mapping[str, Json], record: type) -> None:
    """Raise TypeError for the first field whose type does not match its annotation in the record."""
    hints = _hints(record)
    for name, value in fields.items():
        if name in hints:
            _require([(name, value)], [value], hints[name], "")


@cache
def _hints(record: type) -> dict[str, object]:
    return get_type_hints(record)


def _require(named: Iterable[tuple[object, Json]], values: Iterable[Json], expected: object, path: str) -> None:
    """Check the types of all values in one step, because results have thousands and nearly always all are right."""
    kind = _kind(expected)
    if kind.types is not None and not set(map(type, values)) <= set(kind.types):
        name, value = next((name, value) for name, value in named if type(value) not in kind.types)
        expected_types = " or ".join(dict.fromkeys(_NAMES.get(each, "a number") for each in kind.types))
        raise TypeError(f"{path}{name}: got {_NAMES.get(type(value), 'a number')}, expected {expected_types}")
    if kind.items is not Any:
        for name, value in named:
            inside = f"{path}{name}."
            if isinstance(value, dict):
                _require(value.items(), value.values(), kind.items, inside)
            elif value is not None:
                _require(list(enumerate(value)), value, kind.items, inside)


@cache
def _kind(expected: object) -> _Kind:
    """Return the kind of an annotation. Of collections, only Mapping and tuple are supported, for objects and lists."""
    if expected is Any:
        return _Kind(None)
    arguments = get_args(expected)
    if get_origin(expected) is Mapping:
        return _Kind((dict,), arguments[1])
    if get_origin(expected) is tuple:
        return _Kind((list,), arguments[0])
    kinds = arguments if get_origin(expected) in (Union, types.UnionType) else (expected,)
    if type(None) in kinds and (containers := [kind for kind in kinds if get_origin(kind) in (Mapping, tuple)]):
        one = _kind(containers[0])
        return _Kind((*(one.types or ()), type(None)), one.items)
    return _Kind((*kinds, int) if float in kinds else kinds)  # an int is accepted as a float, a bool is not
