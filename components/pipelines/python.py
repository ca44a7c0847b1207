"""A function in the user's package as a pipeline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from components.fields import user_code_metadata
from components.pipelines.called import Answering, CalledPipeline
from components.user_code.calls import function_problems, has_parameter, import_object, import_problems


@dataclass(frozen=True)
class PythonPipeline(CalledPipeline):
    """A function `call`, such as my_app.rag.answer, that answers a question. Its package must be in `run.plugins`.

    It is called as `answer(question, **parameters)`. If it has a parameter `history`, it also gets the earlier turns of
    the conversation: a list of mappings with "question" and "answer", oldest first. It returns a string, or a mapping
    or dataclass; see `read_reply`. See `CalledPipeline` for failures, and `CallsUserCode` for the other fields.
    """

    call: str = field(metadata=user_code_metadata("the function"))

    path_field: ClassVar[str] = "call"

    def problems(self) -> list[str]:
        """Return error messages if the function cannot be imported or called."""
        return import_problems(self.call, "a function, e.g. my_app.rag.answer") or function_problems(
            import_object(self.call), "question", "history", self.parameters
        )

    def answering(self) -> Answering:
        """Return the function with its parameters."""
        function: Callable[..., object] = import_object(self.call)
        takes_history = has_parameter(function, "history")

        def answer(question: str, history: list[dict[str, str]]) -> object:
            earlier: Mapping[str, Any] = {"history": history} if takes_history else {}
            return function(question, **earlier, **self.parameters)

        return answer
