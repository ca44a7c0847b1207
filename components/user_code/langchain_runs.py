"""Documents and tokens of one call of a chain, as LangChain reports them to a callback handler."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.documents import Document
    from langchain_core.outputs import LLMResult


class Recorded(Protocol):
    """The retrievers and the models that one call used."""

    def passages(self, passage: Callable[[object], object]) -> list[object] | None:
        """Return the documents of all searches, in the order of the searches. None if there was no search."""

    def usage(self) -> dict[str, int] | None:
        """Return the sums of prompt_tokens and completion_tokens. None if a model does not report them."""


def recorder() -> Any:
    """Return a new callback handler of LangChain that is `Recorded`."""
    return _handler_class()()


@cache
def _handler_class() -> type:
    from langchain_core.callbacks import BaseCallbackHandler

    class Recorder(BaseCallbackHandler):
        """A search inside another, such as of one part of an ensemble, counts as part of the outer one."""

        def __init__(self) -> None:
            self._searching: set[UUID] = set()
            self._found: dict[UUID, Sequence[Document]] = {}
            self._tokens: list[Mapping[str, int] | None] = []

        def on_chain_start(
            self, *args: Any, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
        ) -> None:
            if parent_run_id in self._searching:
                self._searching.add(run_id)

        def on_retriever_start(
            self, *args: Any, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
        ) -> None:
            if parent_run_id not in self._searching:
                self._found[run_id] = ()
            self._searching.add(run_id)

        def on_retriever_end(self, documents: "Sequence[Document]", *, run_id: "UUID", **kwargs: Any) -> None:
            if run_id in self._found:
                self._found[run_id] = documents

        def on_llm_end(self, response: "LLMResult", **kwargs: Any) -> None:
            for generation in (each for some in response.generations for each in some):
                self._tokens.append(getattr(getattr(generation, "message", None), "usage_metadata", None))

        def passages(self, passage: Callable[[object], object]) -> list[object] | None:
            return [passage(each) for found in self._found.values() for each in found] if self._found else None

        def usage(self) -> dict[str, int] | None:
            known = [each for each in self._tokens if each]
            if not known or len(known) < len(self._tokens):
                return None
            names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
            return {name: sum(each.get(theirs, 0) for each in known) for name, theirs in names.items()}

    return Recorder
