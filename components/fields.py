"""How a component, or a stage, marks the fields that do not belong to its identity.

Every field counts towards the key of what is computed, save those made with `runtime_only`, and those made with
`added_later` while they have their default. A wrong mark is a wrong result that looks kept, so `runtime_only` carries
its reason.
"""

from dataclasses import Field, field
from typing import Any

RUNTIME_ONLY = "runtime_only"
ADDED_LATER = "added_later"
RUNS = "runs"


def runtime_only(default: Any, reason: str, *, runs: str = "") -> Any:
    """A dataclass field that changes how fast or where a component works, never what it returns. `runs` is as in
    `naming_code`, "" for a field that names no code.

    Raises ValueError without a reason.
    """
    if not reason.strip():
        raise ValueError("a runtime-only field needs the reason why it cannot change a result")
    return field(default=default, metadata={RUNTIME_ONLY: reason, **(naming_code(runs) if runs else {})})


def naming_code(runs: str) -> dict[str, str]:
    """The metadata of a dataclass field whose value names code that is not ours, unless it is false or empty. `runs`
    says what runs: "the program". A folder that somebody else wrote may name anything there.
    """
    return {RUNS: runs}


def what_runs(a_field: "Field[Any]") -> str:
    """The code that the field names: `runs` of `naming_code` or `runtime_only`, "" for other fields."""
    return str(a_field.metadata.get(RUNS, ""))


def is_runtime_only(a_field: "Field[Any]") -> bool:
    """True for a field made with `runtime_only`."""
    return RUNTIME_ONLY in a_field.metadata


def added_later(default: Any) -> Any:
    """A dataclass field that a class got when results of it were kept already. At its default, which means what the
    class did without the field, it stands in no key, so that these results are found still. The default must never
    change: another one would be another result under the same key.
    """
    return field(default=default, metadata={ADDED_LATER: True})


def counts(a_field: "Field[Any]", value: object) -> bool:
    """True if a field with this value belongs to the identity of what has it."""
    return not is_runtime_only(a_field) and not (ADDED_LATER in a_field.metadata and value == a_field.default)
