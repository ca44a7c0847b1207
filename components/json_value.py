"""The type of values that are read from or written to JSON and YAML."""

from math import isinf
from typing import Any

Json = Any  # mypy has recursive types, but every place that reads a value from one would need a cast


def name_kind(value: object) -> str:
    """Return the JSON type of a value for messages, e.g. "list"; "null" for None."""
    if isinstance(value, float) and isinf(value):
        return "number that is not finite"
    names = {dict: "JSON object", list: "list", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
