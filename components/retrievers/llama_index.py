"""A retriever of LlamaIndex."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from components.fields import user_code_metadata
from components.retrievers.called import CalledRetriever
from components.user_code.llama_index import engine_problems, load_engine_retrieval


@dataclass(frozen=True)
class LlamaIndexRetriever(CalledRetriever):
    """A retriever or a query engine at `engine`, such as my_app.engine:retriever, or a function that returns one.

    For a query engine, its retrieval and postprocessors are used. The retriever decides how many nodes it finds.
    `parameters` are arguments of the function. See `CalledRetriever` for failures.
    """

    engine: str = field(metadata=user_code_metadata("the retriever"))

    path_field: ClassVar[str] = "engine"
    option: ClassVar[str] = "retriever=llama_index"

    def problems(self) -> list[str]:
        """Return error messages for a missing package, and for a path that leads to no retriever."""
        return engine_problems(self.engine, self.parameters, "retriever")

    def searching(self) -> Callable[[str], object]:
        """Return the function that retrieves nodes."""
        return load_engine_retrieval(self.engine, self.parameters)
