"""How a component marks the fields that do not belong to its identity.

Every field of a component counts towards the key of what it computes, save those made with `runtime_only`. A wrong mark
is a wrong result that looks kept, so each mark carries its reason.
"""

from dataclasses import Field, field
from typing import Any

RUNTIME_ONLY = "runtime_only"


def runtime_only(default: Any, reason: str) -> Any:
    """A dataclass field that changes how fast or where a component works, never what it returns.

    Raises ValueError without a reason.
    """
    if not reason.strip():
        raise ValueError("a runtime-only field needs the reason why it cannot change a result")
    return field(default=default, metadata={RUNTIME_ONLY: reason})


def is_runtime_only(a_field: "Field[Any]") -> bool:
    """True for a field made with `runtime_only`."""
    return RUNTIME_ONLY in a_field.metadata
