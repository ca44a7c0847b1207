"""Checks the answers of a generator before they are stored. In another order they would belong to other samples."""

from collections.abc import Sequence

from components.records import Answer, AnswerTask, GeneratedAnswer
from runner.engine.broken_contracts import broken_contract
from runner.engine.checked_answers import answer_error
from runner.pipeline.answers.checked_prompts import checked_messages


def checked_generation(
    answers: list[GeneratedAnswer], tasks: Sequence[AnswerTask], generator: object
) -> list[GeneratedAnswer]:
    """Return `answers` if they answer the tasks in order. Raises ComponentError, which names the class."""
    if not isinstance(answers, list) or len(answers) != len(tasks):
        found = f"{len(answers)} answers" if isinstance(answers, list) else type(answers).__name__
        raise broken_contract(
            generator, f"returned {found}, expected a list of one GeneratedAnswer per task ({len(tasks)})"
        )
    for own, task in zip(answers, tasks, strict=True):
        if mistake := _mistake(own, task.sample.id):
            raise broken_contract(generator, mistake)
        checked_messages(own.prompt, task.sample, generator)
    return answers


def _mistake(answer: object, sample_id: str) -> str:
    """Describe a contract violation; "" without one."""
    if not isinstance(answer, GeneratedAnswer) or not isinstance(answer.answer, Answer):
        return f"got {type(answer).__name__} for sample {sample_id!r}, expected a GeneratedAnswer with an Answer"
    if error := answer_error(answer.answer):
        return f"Answer.{error}"
    if answer.answer.request_id != sample_id:
        return f"got the answer {answer.answer.request_id!r} at the place of sample {sample_id!r}, expected its id"
    return "" if isinstance(answer.path, str) else f"got {type(answer.path).__name__} as the path, expected a string"
