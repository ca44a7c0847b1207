"""Converts frozen records to JSON values and back, for the stages of a run."""

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
    """The codec of a record whose fields are plain values, enums, tuples, mappings and such records."""

    def __init__(self, record: type[T]) -> None:
        """Take the class of the record, a dataclass."""
        self._record = record

    def encode(self, result: T) -> Parts:
        """Return the record as one part."""
        return {"record": to_json(result)}

    def decode(self, parts: Parts) -> T:
        """Return the record that was encoded."""
        return from_json(self._record, parts["record"])


def to_json(record: object) -> dict[str, Json]:
    """Return a dataclass as a JSON value."""
    value: dict[str, Json] = asdict(record)  # type: ignore[call-overload]  # a dataclass, by contract
    return value


def from_json(record: type[T], raw: Mapping[str, Json]) -> T:
    """Return the record that was encoded as `raw`."""
    value: T = _decode(record, raw)
    return value


def _decode(annotation: object, raw: Json) -> Any:
    origin = get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        inner = next(option for option in get_args(annotation) if option is not type(None))
        return None if raw is None else _decode(inner, raw)
    if origin is tuple:
        kinds = get_args(annotation)
        if kinds[-1] is not Ellipsis:
            return tuple(_decode(kind, item) for kind, item in zip(kinds, raw, strict=True))
        return tuple(_decode(kinds[0], item) for item in raw)
    if origin in (dict, Mapping):
        return {name: _decode(get_args(annotation)[1], item) for name, item in raw.items()}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return annotation(raw)
    if isinstance(annotation, type) and is_dataclass(annotation):
        hints = _hints(annotation)
        return annotation(**{field.name: _decode(hints[field.name], raw[field.name]) for field in fields(annotation)})
    return raw


@cache
def _hints(record: type) -> dict[str, object]:
    return get_type_hints(record)
