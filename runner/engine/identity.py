"""From a component's configuration to a key: equal meaning, equal key; what could change a result, another key."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from components.fields import is_runtime_only


def describe(value: Any) -> Any:
    """A JSON value that stands for `value`: for a component its class, version and meaningful fields.

    Fields marked runtime-only are left out; a component that reads files has `content_hash() -> str`, which stands for
    what is in them. Raises TypeError for what has no canonical form.
    """
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return describe(value.value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): describe(item) for name, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _describe_component(value)
    raise TypeError(f"no canonical form for {type(value).__name__}: {value!r}")


def _describe_component(component: Any) -> dict[str, Any]:
    described = {
        "class": f"{type(component).__module__}.{type(component).__qualname__}",
        "version": getattr(component, "version", 0),
    }
    for field in dataclasses.fields(component):
        if not is_runtime_only(field):
            described[f"field {field.name}"] = describe(getattr(component, field.name))
    if content := getattr(component, "content_hash", str)():
        described["content"] = content
    return described


def key_of(description: Any) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of a description."""
    canonical = json.dumps(description, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
