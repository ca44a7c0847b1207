"""A chain of LangChain as a pipeline."""

from dataclasses import dataclass, field
from typing import ClassVar

from components.fields import user_code_metadata
from components.pipelines.called import Answering, CalledPipeline
from components.user_code.langchain import load_chain_call, runnable_problems


@dataclass(frozen=True)
class LangchainPipeline(CalledPipeline):
    """A Runnable at `runnable`, such as my_app.chain:chain, or a function that returns one.

    The input is the question, or a mapping with the question and the earlier turns as messages. The names come from the
    chain's input schema; `question_key` and `history_key` replace them. The output is a text, a message, or a mapping
    with `answer`, `result` or `output`, and optionally with the documents as `context` or `source_documents`. If it has
    no documents, those that the chain's retrievers found in the call are its passages. Token counts are those that all
    its models report.

    `parameters` are configurable fields of the Runnable, or arguments of the function, which is called once. See
    `CalledPipeline` for failures, and `CallsUserCode` for the other fields.
    """

    runnable: str = field(metadata=user_code_metadata("the chain"))
    question_key: str = ""
    history_key: str = ""

    path_field: ClassVar[str] = "runnable"

    def problems(self) -> list[str]:
        """Return error messages for a missing package, and for a path that leads to no chain."""
        return runnable_problems(self.runnable, self.parameters, "pipeline", self.question_key, self.history_key)

    def answering(self) -> Answering:
        """Return the function that invokes the chain."""
        return load_chain_call(self.runnable, self.parameters, self.question_key, self.history_key)
