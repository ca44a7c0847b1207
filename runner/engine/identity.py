"""Keys of components: equal meaning gives an equal key, and anything that could change a result gives another key."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum

from components.fields import is_in_key
from components.json_value import Json
from components.pretrained.model_folder import FOLDER_FIELDS, local_folder
from runner.engine.broken_contracts import contract_error, name_class_in_errors
from runner.engine.plugins.plugin_loading import code_class, identify_files
from runner.engine.source_code import is_ours, package_code

CodeOf = Callable[[type], str]
"""Function that returns a hash of the code of a class. "" for a class that is identified by its version instead."""

Models = frozenset[tuple[str, str]]
"""Models that are needed or in memory, as (model, revision)."""


def describe(value: object, *, without: Collection[str] = (), code_of: CodeOf = package_code) -> Json:
    """Return a JSON value that identifies `value`.

    A component is described by its class, version and meaningful fields. A user's component also includes the code of
    its package, because users need not raise a version after an edit. The order of a mapping matters, because prompts
    write metadata in that order.

    Three sorts of fields are left out: runtime-only fields, fields added later that have their default, and the fields
    in `without`. A component that reads files has `content_hash() -> str`, which identifies their contents regardless
    of their folder. Raises TypeError for a value without a canonical form.
    """
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return describe(value.value, code_of=code_of)
    if isinstance(value, float):
        return repr(float(value) + 0.0)  # -0.0 becomes 0.0, which it equals
    if isinstance(value, list | tuple):
        return [describe(item, code_of=code_of) for item in value]
    if isinstance(value, Mapping):
        return {"in this order": [[str(name), describe(item, code_of=code_of)] for name, item in value.items()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _describe_component(value, without, code_of)
    raise TypeError(f"no canonical form for {type(value).__name__}: {value!r}")


def _describe_component(component: object, without: Collection[str], code_of: CodeOf) -> dict[str, Json]:
    described: dict[str, Json] = {
        "class": f"{type(component).__module__}.{type(component).__qualname__}",
        "version": getattr(component, "version", 0),
    }
    if hidden := _hidden_versions(type(component)):
        described["versions of bases"] = hidden
    if "<locals>" in type(component).__qualname__:
        raise contract_error(
            component, "other classes may have the same name, so no key can identify it", "Define it in a module"
        )
    content = _hash_content(component)
    for name in _meaningful_fields(component):
        if name not in without and not (content and _names_folder(component, name)):
            described[f"field {name}"] = describe(getattr(component, name), code_of=code_of)
    if code := code_of(code_class(component)):
        described["code"] = code
    if content:
        described["content"] = content
    return described


def _hidden_versions(cls: type) -> dict[str, Json]:
    """Return the versions of our classes that the `version` of a user's class hides."""
    versioned = [base for base in cls.__mro__ if "version" in vars(base)]
    if not versioned or is_ours(versioned[0]):
        return {}
    return {f"{base.__module__}.{base.__qualname__}": vars(base)["version"] for base in versioned if is_ours(base)}


def _hash_content(component: object) -> str:
    """Return the hash of the files that a component reads. "" for a component without `content_hash`."""
    with name_class_in_errors(component, "content_hash failed", "Fix the class or the files that it reads"):
        content: object = identify_files(component, "content_hash") if hasattr(component, "content_hash") else ""
    if not isinstance(content, str):
        raise contract_error(component, f"content_hash returned {type(content).__name__}, expected a string")
    return content


def _names_folder(component: object, field: str) -> bool:
    """Return True if the field of one of our components names a model's folder. The key then contains its content hash
    instead of its path.
    """
    return field in FOLDER_FIELDS and is_ours(type(component)) and local_folder(getattr(component, field)) is not None


def _meaningful_fields(component: object) -> Iterator[str]:
    fields = dataclasses.fields(component)  # type: ignore[arg-type]  # components are dataclasses
    return (field.name for field in fields if is_in_key(field, getattr(component, field.name)))


def walk_components(value: object) -> Iterator[object]:
    """Yield a component and all components nested in it, in lists and mappings too."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from walk_components(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from walk_components(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in dataclasses.fields(value):
            yield from walk_components(getattr(value, field.name))


def required_models(value: object) -> Models:
    """Return the models that a component needs: the field `model` of the component and of all components nested in it.

    The purpose of a model does not matter.
    """
    parts = [part for part in walk_components(value) if getattr(part, "model", None)]
    return frozenset((str(getattr(part, "model", "")), str(getattr(part, "revision", ""))) for part in parts)


def hash_description(description: Json) -> str:
    """Return the SHA-256 (64 hex digits) of the canonical JSON of a description."""
    canonical = json.dumps(description, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
