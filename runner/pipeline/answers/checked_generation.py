"""Answers as a generator made them, checked before they are stored: in another order they would be other samples'."""

from collections.abc import Sequence

from components.records import Answer, AnswerTask, GeneratedAnswer
from runner.engine.broken_contracts import broken_contract
from runner.engine.checked_answers import answer_mistake
from runner.pipeline.answers.checked_prompts import checked_messages


def checked_generation(
    made: list[GeneratedAnswer], tasks: Sequence[AnswerTask], generator: object
) -> list[GeneratedAnswer]:
    """Return `made` if it holds the answer to each task, in order. Raises ComponentError, which names the class."""
    if not isinstance(made, list) or len(made) != len(tasks):
        found = f"{len(made)} answers" if isinstance(made, list) else type(made).__name__
        raise broken_contract(
            generator, f"returned {found}, expected a list of one GeneratedAnswer per task ({len(tasks)})"
        )
    for own, task in zip(made, tasks, strict=True):
        if mistake := _mistake(own, task.sample.id):
            raise broken_contract(generator, mistake)
        checked_messages(own.prompt, task.sample, generator)
    return made


def _mistake(made: object, sample_id: str) -> str:
    """A contract violation in words; "" for none."""
    if not isinstance(made, GeneratedAnswer) or not isinstance(made.answer, Answer):
        return f"got {type(made).__name__} for sample {sample_id!r}, expected a GeneratedAnswer with an Answer"
    if mistake := answer_mistake(made.answer):
        return f"Answer.{mistake}"
    if made.answer.request_id != sample_id:
        return (
            f"got the answer {made.answer.request_id!r} in the place of sample {sample_id!r}, expected its id and order"
        )
    return "" if isinstance(made.path, str) else f"got {type(made.path).__name__} as the path, expected a string"
