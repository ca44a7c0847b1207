"""Frozen records as JSON values, and back: what the stages of a run keep."""

import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from components.json_value import Json
from runner.engine.codecs import Parts

T = TypeVar("T")


class JsonRecord(Generic[T]):
    """The codec of a record whose fields are plain values, enums, tuples, mappings and records of the same kind."""

    def __init__(self, record: type[T]) -> None:
        """`record` is a dataclass."""
        self._record = record

    def encode(self, result: T) -> Parts:
        """One part."""
        return {"record": encoded(result)}

    def decode(self, parts: Parts) -> T:
        """The record."""
        return decoded(self._record, parts["record"])


def encoded(record: object) -> dict[str, Json]:
    """A dataclass as a JSON value."""
    value: dict[str, Json] = asdict(record)  # type: ignore[call-overload]  # a dataclass, by contract
    return value


def decoded(record: type[T], raw: Mapping[str, Json]) -> T:
    """The record that was encoded."""
    value: T = _decoded(record, raw)
    return value


def _decoded(wanted: Any, raw: Json) -> Any:
    origin = get_origin(wanted)
    if origin in (typing.Union, types.UnionType):
        inner = next(option for option in get_args(wanted) if option is not type(None))
        return None if raw is None else _decoded(inner, raw)
    if origin is tuple:
        kinds = get_args(wanted)
        if kinds[-1] is not Ellipsis:
            return tuple(_decoded(kind, item) for kind, item in zip(kinds, raw, strict=True))
        return tuple(_decoded(kinds[0], item) for item in raw)
    if origin in (dict, Mapping):
        return {name: _decoded(get_args(wanted)[1], item) for name, item in raw.items()}
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return wanted(raw)
    if isinstance(wanted, type) and is_dataclass(wanted):
        hints = _hints(wanted)
        return wanted(**{field.name: _decoded(hints[field.name], raw[field.name]) for field in fields(wanted)})
    return raw


@cache
def _hints(record: Any) -> dict[str, Any]:
    return get_type_hints(record)
