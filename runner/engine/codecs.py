"""Codecs that turn results into named parts, which the store saves as files, and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Generic, Protocol, TypeVar

from components.json_value import Json
from runner.engine.store.part_files import Part

T = TypeVar("T")
C = TypeVar("C")

Parts = Mapping[str, Part]
"""Named parts of a result. The parts of a stored result are read from their files on demand."""


class Codec(Protocol[C]):
    """Codec for one type of result. `decode(encode(result))` equals the result."""

    def encode(self, result: C) -> Parts:
        """Return the parts to store."""

    def decode(self, parts: Parts) -> C:
        """Return the result. Reads no more parts than necessary."""


class Columns(Generic[T]):
    """Codec for a record whose fields are all parts: arrays, tables or JSON values."""

    def __init__(self, record: type[T]) -> None:
        """Take the names of the parts from the fields of `record`, a dataclass."""
        self._record = record

    def encode(self, result: T) -> Parts:
        """Return one part per field."""
        return {field.name: getattr(result, field.name) for field in fields(self._record)}  # type: ignore[arg-type]

    def decode(self, parts: Parts) -> T:
        return self._record(**{field.name: parts[field.name] for field in fields(self._record)})  # type: ignore[arg-type]


class NamedArraysCodec:
    """Codec for arrays by name, where a component chooses the names."""

    def encode(self, result: Parts) -> Parts:
        return result

    def decode(self, parts: Parts) -> Parts:
        return dict(parts)


class SinglePart(Generic[T]):
    """Codec for a result that is a single part."""

    def __init__(self, name: str) -> None:
        """`name` is the name of the part, and therefore of its file."""
        self._name = name

    def encode(self, result: T) -> Parts:
        return {self._name: result}

    def decode(self, parts: Parts) -> T:
        part: Json = parts[self._name]
        value: T = part
        return value
