"""Markers for dataclass fields that are not part of the identity of a component or stage.

Every field is part of the key of a computed result, with two exceptions: fields created with `runtime_only`, and fields
created with `added_later` while they have their default. A wrong mark makes a wrong result look cached, so
`runtime_only` requires a reason.
"""

from dataclasses import Field, field
from typing import Any, TypeVar, overload

T = TypeVar("T")

RUNTIME_ONLY = "runtime_only"
ADDED_LATER = "added_later"
RUNS = "runs"
USER_CODE = "user_code"


@overload
def runtime_only(default: None, reason: str, *, runs: str = "") -> Any: ...  # fields of any type may lack a default


@overload
def runtime_only(default: T, reason: str, *, runs: str = "") -> T: ...


def runtime_only(default: object, reason: str, *, runs: str = "") -> object:
    """Return a dataclass field that changes how fast or where a component works, but never its result.

    `runs` names the code that the field runs, as in `code_metadata`; "" for a field that names no code. Raises
    ValueError if `reason` is blank.
    """
    if not reason.strip():
        raise ValueError("a runtime-only field needs the reason why it cannot change a result")
    return field(default=default, metadata={RUNTIME_ONLY: reason, **(code_metadata(runs) if runs else {})})


def code_metadata(runs: str) -> dict[str, str]:
    """Return the metadata of a dataclass field whose value, unless false or empty, names code from outside this
    project.

    `runs` says what the field runs, such as "the program". A folder from another author may name any code there.
    """
    return {RUNS: runs}


def user_code_metadata(runs: str) -> dict[str, str]:
    """Return the metadata of `code_metadata` for a dotted path that must be in a package of `run.plugins`."""
    return {**code_metadata(runs), USER_CODE: runs}


def is_user_code_field(a_field: "Field[object]") -> bool:
    """Return True for a field with the metadata of `user_code_metadata`."""
    return USER_CODE in a_field.metadata


def field_code(a_field: "Field[object]") -> str:
    """Return the code that the field names: `runs` of `code_metadata` or `runtime_only`, "" for other fields."""
    return str(a_field.metadata.get(RUNS, ""))


def is_runtime_only(a_field: "Field[object]") -> bool:
    """Return True for a field created with `runtime_only`."""
    return RUNTIME_ONLY in a_field.metadata


def added_later(default: T) -> T:
    """Return a dataclass field that was added to a class after its results were stored.

    With its default, the class must do what it did before it had the field. No key contains a field at its default, so
    the stored results are still found. Never change the default: a new default would put another result under the same
    key.
    """
    return field(default=default, metadata={ADDED_LATER: True})


def is_in_key(a_field: "Field[object]", value: object) -> bool:
    """Return True if a field with this value is part of the identity of its owner."""
    return not is_runtime_only(a_field) and not (ADDED_LATER in a_field.metadata and value == a_field.default)
