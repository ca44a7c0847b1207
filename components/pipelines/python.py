"""A function of the user's own package as a pipeline."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

from components.errors import ComponentError
from components.fields import naming_user_code, runtime_only
from components.limits import too_small
from components.openai_server.breaker import Breaker
from components.openai_server.errors import class_of
from components.openai_server.gate import current_gate
from components.pipelines.calling import called
from components.pipelines.reply import BadReply, question_of, read_reply
from components.protocols import AnswersFrom
from components.records import Answer, ErrorClass, Request
from components.secrets.mask import shortened

_SHOWN_CHARACTERS = 300
_EXAMPLE = "my_app.rag.answer"


@dataclass(frozen=True)
class PythonPipeline:
    """A function `call`, such as my_app.rag.answer, that answers a question. Its package must be in `run.plugins`.

    It is called as `answer(question, **parameters)`. If it has a parameter `history`, it also gets the earlier turns of
    the conversation: a list of mappings with "question" and "answer", oldest first. It returns a string, or a mapping
    or dataclass; see `read_reply`. `concurrency` calls run at a time, in threads.

    A call that raises, or returns anything else, is a failed request. So is a call that takes longer than `timeout_s`.
    Its thread cannot be ended, and continues beside the later calls. After many timeouts in a row, the remaining
    questions are not asked (see `Breaker`).

    The code of the function, and of all that its module imports, is part of the keys of its replies. `revision` stands
    for what the code does not show, such as the state of an index or a prompt on a server.
    """

    call: str = field(metadata=naming_user_code("the function"))
    parameters: Mapping[str, bool | int | float | str]
    revision: str | int | float = ""
    timeout_s: float = runtime_only(600.0, "an answer that arrives too late is requested again")
    concurrency: int = runtime_only(1, "requests do not depend on each other")

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_built_in: ClassVar[bool] = False

    def __hash__(self) -> int:
        """Hash the parameters regardless of their order."""
        return hash((self.call, frozenset(self.parameters.items()), self.revision, self.timeout_s, self.concurrency))

    @property
    def model(self) -> str:
        """The name of the function, for prices and messages."""
        return self.call

    @property
    def code_class(self) -> type:
        """A class with the name and the module of the function. It stands for the code of the function."""
        module, _, name = self.call.rpartition(".")
        return type(name, (), {"__module__": module})

    def check(self) -> list[str]:
        """Return errors of the fields, and of a function that cannot be imported or called. Imports the function."""
        mistakes = too_small(self, concurrency=1)
        if not self.timeout_s > 0:
            mistakes.append(f"timeout_s: got {self.timeout_s}, expected more than 0")
        return [*mistakes, *(f"call: got {self.call!r}, {mistake}" for mistake in self._mistakes_of_call())]

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers as they arrive. Raises ComponentError if the function cannot be imported.

        Closing the iterator, or an interrupt, starts no more calls. Running calls continue in their threads.
        """
        function: Callable[..., object] = self._function()
        takes_history = _takes_history(function)

        def answer(request: Request, latency_s: Callable[[], float]) -> Answer:
            question, history = question_of(request)
            earlier: Mapping[str, Any] = {"history": history} if takes_history else {}
            value: object = function(question, **earlier, **self.parameters)
            return read_reply(value, request.id, latency_s())

        breaker = Breaker(self.concurrency, current_gate().health(f"{self.call} {dict(self.parameters)}"))
        for request, outcome in called(answer, requests, self.concurrency, self.timeout_s, lambda: breaker.is_open):
            if outcome is None:
                yield Answer.failed(request, f"not asked: {breaker.reason}", breaker.error_class)
            elif isinstance(outcome, Answer):
                breaker.succeeded()
                yield outcome
            else:
                yield self._failed_call(request, outcome, breaker)

    def _failed_call(self, request: Request, error: BaseException, breaker: Breaker) -> Answer:
        known = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
        kind = ErrorClass.MALFORMED if isinstance(error, BadReply) else class_of(known)
        text = shortened(f"{self.call}: {_line(error)}", _SHOWN_CHARACTERS)
        breaker.failed(known, text)
        return Answer.failed(request, text, kind)

    def _function(self) -> Any:
        module, _, name = self.call.rpartition(".")
        try:
            return getattr(import_module(module), name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a user's module may raise anything
            raise ComponentError(f"which cannot be imported ({_line(error)})") from error

    def _mistakes_of_call(self) -> list[str]:
        if not self.call.rpartition(".")[0]:
            return [f"expected the dotted path of a function, e.g. {_EXAMPLE}"]
        try:
            function = self._function()
        except ComponentError as error:
            return [str(error)]
        if not callable(function):
            return [f"which is a {type(function).__name__}, expected a function"]
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return ["which is asynchronous, expected a plain function; wrap it with asyncio.run"]
        return _mistakes_of_signature(function, self.parameters)


def _mistakes_of_signature(function: Callable[..., Any], parameters: Mapping[str, object]) -> list[str]:
    try:
        signature = inspect.signature(function)
    except ValueError:  # a compiled function may have none
        return []
    if "history" in parameters:
        return ["whose parameter `history` is the conversation; expected another name in pipeline.parameters"]
    earlier: Mapping[str, Any] = {"history": []} if _takes_history(function) else {}
    try:
        signature.bind("a question", **earlier, **parameters)
    except TypeError as error:
        given = "".join(f", {name}=..." for name in parameters)
        return [f"which cannot be called as answer(question{given}): {error}; see docs/own-pipeline.md"]
    return []


def _takes_history(function: Callable[..., Any]) -> bool:
    try:
        return "history" in inspect.signature(function).parameters
    except ValueError:
        return False


def _line(error: BaseException) -> str:
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:  # noqa: BLE001 - the message of a user's exception may fail too
        return type(error).__name__
