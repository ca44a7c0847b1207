"""A function in the user's package as a retriever."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from components.fields import user_code_metadata
from components.retrievers.called import CalledRetriever
from components.user_code.calls import function_problems, has_parameter, import_object, import_problems


@dataclass(frozen=True)
class PythonRetriever(CalledRetriever):
    """A function `call`, such as my_app.search.find, that searches for a query. Its package must be in `run.plugins`.

    It is called as `find(query, **parameters)`. If it has a parameter `top_k`, it also gets `depth`, the number of hits
    to return. It returns texts, or records with `text`, best first. See `CalledRetriever` for failures.
    """

    call: str = field(metadata=user_code_metadata("the function"))

    path_field: ClassVar[str] = "call"
    option: ClassVar[str] = "retriever=python"

    def problems(self) -> list[str]:
        """Return error messages if the function cannot be imported or called."""
        return import_problems(self.call, "a function, e.g. my_app.search.find") or function_problems(
            import_object(self.call), "query", "top_k", self.parameters, "retriever"
        )

    def searching(self) -> Callable[[str], object]:
        """Return the function with its parameters."""
        function: Callable[..., object] = import_object(self.call)
        options: Mapping[str, Any] = {"top_k": self.depth} if has_parameter(function, "top_k") else {}
        return lambda query: function(query, **options, **self.parameters)
