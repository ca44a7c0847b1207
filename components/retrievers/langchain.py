"""A retriever of LangChain."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from components.fields import user_code_metadata
from components.retrievers.called import CalledRetriever
from components.user_code.langchain import load_retriever_call, runnable_problems


@dataclass(frozen=True)
class LangchainRetriever(CalledRetriever):
    """A BaseRetriever at `runnable`, such as my_app.chain:retriever, or a function that returns one.

    Any other Runnable that takes a query and returns documents works too. The retriever decides how many it finds.
    `parameters` are its configurable fields, or arguments of the function. See `CalledRetriever` for failures.
    """

    runnable: str = field(metadata=user_code_metadata("the retriever"))

    path_field: ClassVar[str] = "runnable"
    option: ClassVar[str] = "retriever=langchain"

    def problems(self) -> list[str]:
        """Return error messages for a missing package, and for a path that leads to no Runnable."""
        return runnable_problems(self.runnable, self.parameters, "retriever")

    def searching(self) -> Callable[[str], object]:
        """Return the function that invokes the retriever."""
        return load_retriever_call(self.runnable, self.parameters)
