"""How a component asks that has no language model."""

from collections.abc import Sequence

from components.errors import ComponentError
from components.records import Answer, Request


def ask_nobody(requests: Sequence[Request]) -> list[Answer]:
    """For components whose `llm` is None. Raises ComponentError."""
    raise ComponentError(
        f"{len(requests)} requests came from a component that says that it asks no model; expected `llm`"
    )
