"""Documents and tokens of one call of a chain, as LangChain reports them to a callback handler."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.documents import Document
    from langchain_core.outputs import LLMResult


@dataclass
class ChainRecord:
    """The searches and the models of one call.

    A search inside another one, such as for one part of an ensemble, is part of the outer one.
    """

    searching: "set[UUID]" = field(default_factory=set)
    found: "dict[UUID, Sequence[Document]]" = field(default_factory=dict)
    tokens: list[Mapping[str, int] | None] = field(default_factory=list)

    @property
    def documents(self) -> "list[Document] | None":
        """The documents of all searches, in the order of the searches. None if there was no search."""
        return (
            [document for search_documents in self.found.values() for document in search_documents]
            if self.found
            else None
        )

    @property
    def usage(self) -> dict[str, int] | None:
        """The sums of prompt_tokens and completion_tokens. None if a model does not report them."""
        reported = [counts for counts in self.tokens if counts]
        if not reported or len(reported) < len(self.tokens):
            return None
        names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
        return {name: sum(counts.get(theirs, 0) for counts in reported) for name, theirs in names.items()}

    def begin(self, run: "UUID", parent: "UUID | None", *, is_search: bool) -> None:
        """Record the start of a step of the chain."""
        is_inside = parent in self.searching
        if is_search and not is_inside:
            self.found[run] = ()
        if is_search or is_inside:
            self.searching.add(run)

    def end_search(self, run: "UUID", documents: "Sequence[Document]") -> None:
        """Record the documents of a search."""
        if run in self.found:
            self.found[run] = documents

    def end_model(self, result: "LLMResult") -> None:
        """Record the tokens of a model's replies."""
        messages = (getattr(generation, "message", None) for some in result.generations for generation in some)
        self.tokens += [getattr(message, "usage_metadata", None) for message in messages]


def langchain_handler(record: ChainRecord) -> object:
    """Return a callback handler of LangChain that fills `record`."""
    return _handler_class()(record)


@cache
def _handler_class() -> type[Any]:
    from langchain_core.callbacks import BaseCallbackHandler

    class Handler(BaseCallbackHandler):  # type: ignore[misc]  # mypy does not follow the import
        def __init__(self, record: ChainRecord) -> None:
            self._record = record

        def on_chain_start(self, *_: Any, run_id: "UUID", parent_run_id: "UUID | None" = None, **others: Any) -> None:
            self._record.begin(run_id, parent_run_id, is_search=False)

        def on_retriever_start(
            self, *_: Any, run_id: "UUID", parent_run_id: "UUID | None" = None, **others: Any
        ) -> None:
            self._record.begin(run_id, parent_run_id, is_search=True)

        def on_retriever_end(self, documents: "Sequence[Document]", *, run_id: "UUID", **others: Any) -> None:
            self._record.end_search(run_id, documents)

        def on_llm_end(self, response: "LLMResult", **others: Any) -> None:
            self._record.end_model(response)

    return Handler
