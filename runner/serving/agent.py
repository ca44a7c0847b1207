"""The pipeline as an MLflow agent with the Responses API."""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.errors import DataError, LLMError, RagGridError
from components.json_value import Json
from components.limits import expected_one_of
from runner.serving.asked_question import Question
from runner.serving.folder_description import PIPELINE
from runner.serving.pipeline import Pipeline, load_folder

_OPTIONS = ("kind", "subset", "corpus", "where")


def make_agent() -> Any:
    """Return an `mlflow.pyfunc.ResponsesAgent` that answers with a pipeline.

    The last message is the question. Earlier messages of users and assistants are the earlier turns. Messages of other
    roles, such as "system", are ignored, because the pipeline has its own prompt. `custom_inputs` may have `kind`,
    `subset`, `corpus` and `where`: see `Question`. `custom_outputs` has all fields of `PipelineAnswer` except the text,
    or only the passages if the pipeline has no language model.
    """
    from mlflow.pyfunc import ResponsesAgent
    from mlflow.types.responses import ResponsesAgentRequest, ResponsesAgentResponse

    class Agent(ResponsesAgent):  # type: ignore[misc]  # MLflow is not typed
        def load_context(self, context: Any) -> None:
            root = Path(context.artifacts[PIPELINE.name])
            # Loading a model with MLflow runs the code in it, this file, so the user trusts it already.
            self.pipeline = load_folder(root, trust=True)

        def predict(self, request: ResponsesAgentRequest) -> ResponsesAgentResponse:
            try:
                text, details = reply(self.pipeline, read_question(request.model_dump()))
            except RagGridError as error:
                raise error_for_client(error) from error
            output = [] if text is None else [self.create_text_output_item(text, f"msg_{uuid.uuid4().hex}")]
            return ResponsesAgentResponse(output=output, custom_outputs=details)

    return Agent()


def make_silent_agent() -> Any:
    """Return an agent that answers nothing. MLflow asks it while saving a model."""
    from mlflow.pyfunc import ResponsesAgent
    from mlflow.types.responses import ResponsesAgentRequest, ResponsesAgentResponse

    class SilentAgent(ResponsesAgent):  # type: ignore[misc]  # MLflow is not typed
        def predict(self, request: ResponsesAgentRequest) -> ResponsesAgentResponse:
            return ResponsesAgentResponse(output=[])

    return SilentAgent()


def error_for_client(error: RagGridError) -> Exception:
    """Return the error that MLflow's server sends as one message, without secrets and without a traceback.

    The status is 400 for a request that cannot be answered, 503 if the language model gives no answer, otherwise 500.
    """
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, INVALID_PARAMETER_VALUE, TEMPORARILY_UNAVAILABLE

    codes = {DataError: INVALID_PARAMETER_VALUE, LLMError: TEMPORARILY_UNAVAILABLE}
    sent: Exception = MlflowException(str(error), error_code=codes.get(type(error), INTERNAL_ERROR))
    return sent


def reply(pipeline: Pipeline, question: Question) -> tuple[str | None, dict[str, Json]]:
    """Return the answer (None if the pipeline has no language model) and the custom outputs."""
    if not pipeline.has_model:
        return None, {"passages": [vars(passage) for passage in pipeline.search(question)]}
    details = pipeline.answer(question).as_record()
    return details.pop("text"), details


def read_question(request: Mapping[str, Json]) -> Question:
    """Return the question of a request. Raises DataError for a request without a question, and for unknown options."""
    messages = [
        (each["role"], _read_text(each.get("content"))) for each in request["input"] if each.get("role") in _ROLES
    ]
    if not messages:
        raise DataError("input: got no messages, expected at least one, the last one from 'user'")
    if messages[-1][0] != "user":
        raise DataError(f"input: got the last message from '{messages[-1][0]}', expected one from 'user'")
    options = request.get("custom_inputs") or {}
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise DataError(f"custom_inputs: unknown field '{unknown[0]}'{expected_one_of(unknown[0], _OPTIONS)}")
    return Question(messages[-1][1], history=_turns(messages[:-1]), **options)


_ROLES = ("user", "assistant")


def _turns(messages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return questions with their answers. Consecutive messages of one role are joined; a missing question or answer is
    empty.
    """
    turns: list[tuple[str, str]] = []
    for number, (role, text) in enumerate(messages):
        follows_itself = number > 0 and messages[number - 1][0] == role
        if role == "user":
            turns.append((text, "")) if not follows_itself else turns.append((f"{turns.pop()[0]}\n{text}", ""))
        else:
            question, before = turns.pop() if turns else ("", "")
            turns.append((question, f"{before}\n{text}" if follows_itself else text))
    return turns


def _read_text(content: Json) -> str:
    """Return the text of a message, which is a string or has parts, some of them with text."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in content or () if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))
