"""The pipeline as an agent that speaks the Responses API, for MLflow."""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.errors import DataError
from components.json_value import Json
from runner.serving.asked_question import Question
from runner.serving.folder_description import PIPELINE, read_description
from runner.serving.pipeline import Pipeline

_OPTIONS = ("kind", "subset", "corpus", "where")


def make_agent() -> Any:
    """An `mlflow.pyfunc.ResponsesAgent`. The last message is the question, those of users and assistants before it are
    the earlier turns; other messages (of a "system", of tools) are not read: the pipeline has its own prompt.
    `custom_inputs` may hold `kind`, `subset`, `corpus` and `where` (see `Question`). `custom_outputs` hold all fields
    of `PipelineAnswer` but the text, or the passages alone where there is no language model.
    """
    from mlflow.pyfunc import ResponsesAgent
    from mlflow.types.responses import ResponsesAgentRequest, ResponsesAgentResponse

    class Agent(ResponsesAgent):  # type: ignore[misc]  # MLflow is not typed
        """Answers with a pipeline."""

        def load_context(self, context: Any) -> None:
            root = Path(context.artifacts[PIPELINE.name])
            # Whoever has MLflow load a model runs the code that comes with it: this file.
            self.pipeline = Pipeline(root, read_description(root), trust=True)

        def predict(self, request: ResponsesAgentRequest) -> ResponsesAgentResponse:
            text, told = reply(self.pipeline, question_of(request.model_dump()))
            output = [] if text is None else [self.create_text_output_item(text, f"msg_{uuid.uuid4().hex}")]
            return ResponsesAgentResponse(output=output, custom_outputs=told)

    return Agent()


def make_silent_agent() -> Any:
    """One that answers nothing, for MLflow to try as it saves a model."""
    from mlflow.pyfunc import ResponsesAgent
    from mlflow.types.responses import ResponsesAgentRequest, ResponsesAgentResponse

    class SilentAgent(ResponsesAgent):  # type: ignore[misc]  # MLflow is not typed
        """Answers nothing."""

        def predict(self, request: ResponsesAgentRequest) -> ResponsesAgentResponse:
            return ResponsesAgentResponse(output=[])

    return SilentAgent()


def reply(pipeline: Pipeline, question: Question) -> tuple[str | None, dict[str, Json]]:
    """The answer, None where there is no language model, and what is told besides."""
    if not pipeline.has_model:
        return None, {"passages": [vars(passage) for passage in pipeline.search(question)]}
    told = pipeline.answer(question).as_record()
    return told.pop("text"), told


def question_of(request: Mapping[str, Json]) -> Question:
    """What a request asks. Raises DataError for one without a question, and for unknown options."""
    said = [(each["role"], _text_of(each.get("content"))) for each in request["input"] if each.get("role") in _ROLES]
    if not said or said[-1][0] != "user":
        raise DataError("input: expected messages of which the last is a question of a user")
    options = request.get("custom_inputs") or {}
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise DataError(f"custom_inputs: unknown are {', '.join(unknown)}; expected some of {', '.join(_OPTIONS)}")
    return Question(said[-1][1], history=_turns(said[:-1]), **options)


_ROLES = ("user", "assistant")


def _turns(said: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Questions with their answers; messages of one side in a row are one, and what is lacking is empty."""
    turns: list[tuple[str, str]] = []
    for number, (role, text) in enumerate(said):
        follows_itself = number > 0 and said[number - 1][0] == role
        if role == "user":
            turns.append((text, "")) if not follows_itself else turns.append((f"{turns.pop()[0]}\n{text}", ""))
        else:
            question, before = turns.pop() if turns else ("", "")
            turns.append((question, f"{before}\n{text}" if follows_itself else text))
    return turns


def _text_of(content: Json) -> str:
    """Of a message: a text, or parts of which some are texts."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content or () if isinstance(part, Mapping) and "text" in part)
