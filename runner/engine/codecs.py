"""How results become named parts that the store keeps as files, and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Generic, Protocol, TypeVar

from components.json_value import Json
from runner.engine.store.part_files import Part

T = TypeVar("T")
C = TypeVar("C")

Parts = Mapping[str, Part]
"""Named parts. Those of a stored result are read from their files when they are asked for."""


class Codec(Protocol[C]):
    """One kind of result. `decode(encode(result))` equals the result."""

    def encode(self, result: C) -> Parts:
        """The parts to keep."""

    def decode(self, parts: Parts) -> C:
        """The result. Reads no more parts than it needs."""


class Columns(Generic[T]):
    """A record all of whose fields are parts: arrays, tables or JSON values."""

    def __init__(self, record: type[T]) -> None:
        """`record` is a dataclass."""
        self._record = record

    def encode(self, result: T) -> Parts:
        """A part per field."""
        return {field.name: getattr(result, field.name) for field in fields(self._record)}  # type: ignore[arg-type]

    def decode(self, parts: Parts) -> T:
        """The record."""
        return self._record(**{field.name: parts[field.name] for field in fields(self._record)})  # type: ignore[arg-type]


class Named:
    """Named arrays, as they are: those that components name themselves."""

    def encode(self, result: Parts) -> Parts:
        """The arrays."""
        return result

    def decode(self, parts: Parts) -> Parts:
        """All arrays."""
        return dict(parts)


class SinglePart(Generic[T]):
    """A result that is one part."""

    def __init__(self, name: str) -> None:
        """`name` is that of the part, and so of its file."""
        self._name = name

    def encode(self, result: T) -> Parts:
        """The part."""
        return {self._name: result}

    def decode(self, parts: Parts) -> T:
        """The part."""
        part: Json = parts[self._name]
        value: T = part
        return value
