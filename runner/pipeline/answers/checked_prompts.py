"""Checks messages, few-shot examples and earlier turns before a model reads them, and answers before they are stored.

Without a check, a wrong prompt raises no error, and answers in another order would belong to other samples.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from components.clusters import number_clusters
from components.protocols import Examples, History
from components.records import Answer, AnswerTask, Documents, GeneratedAnswer, Message, Sample
from runner.engine.broken_contracts import contract_error
from runner.engine.checked_answers import answer_error

_ROLES = ("system", "user", "assistant")


def validate_messages(messages: Sequence[Message], sample: Sample, prompt: object) -> tuple[Message, ...]:
    """Return the messages.

    Raises ComponentError, which names the prompt's class, for an invalid message, and without messages.
    """
    if not isinstance(messages, list | tuple) or not messages:
        raise contract_error(prompt, f"got {_describe(messages)} for sample {sample.id!r}, expected a tuple of Message")
    for message in messages:
        if not isinstance(message, Message) or not isinstance(message.content, str) or message.role not in _ROLES:
            raise contract_error(
                prompt,
                f"got {_describe(message)} for sample {sample.id!r}, expected a Message with a string as content and "
                f"one of {', '.join(_ROLES)} as its role",
            )
    return tuple(messages)


def validate_examples(
    chosen: NDArray[np.int32],
    samples: Sequence[Sample],
    pool: Sequence[Sample],
    documents: Documents,
    examples: Examples,
) -> NDArray[np.int32]:
    """Return the positions of every sample's examples in the pool.

    Raises ComponentError, which names the class, if they are invalid.
    """
    if (
        not isinstance(chosen, np.ndarray)
        or chosen.dtype.kind not in "iu"
        or chosen.shape != (len(samples), examples.n)
    ):
        expected = f"expected an array of integers with {len(samples)} rows of {examples.n}"
        raise contract_error(examples, f"returned {_describe(chosen)}, {expected}")
    if problem := _examples_problem(chosen, samples, pool, frozenset(documents.ids)):
        raise contract_error(examples, problem)
    return chosen.astype(np.int32)


def _examples_problem(
    chosen: NDArray[np.integer], samples: Sequence[Sample], pool: Sequence[Sample], ids: frozenset[str]
) -> str:
    for row, column in np.argwhere((chosen < 0) | (chosen >= len(pool)))[:1]:
        return f"sample {samples[row].id!r} has the example {chosen[row, column]}, expected 0 to {len(pool) - 1}"
    ordered = np.sort(chosen, axis=1)
    for row, column in np.argwhere(ordered[:, 1:] == ordered[:, :-1])[:1]:
        return f"sample {samples[row].id!r} has the example {ordered[row, column]} twice, expected each once"
    for index in np.unique(chosen).tolist():
        if not pool[index].references or not any(unit.document_id in ids for unit in pool[index].gold):
            return f"the example {pool[index].id!r} has no reference, or no gold in its corpus. Choose another."
    clusters = number_clusters([*samples, *pool])
    for row, column in np.argwhere(clusters[len(samples) + chosen] == clusters[: len(samples), None])[:1]:
        return (
            f"sample {samples[row].id!r} has the example {pool[chosen[row, column]].id!r}, which is the sample "
            "itself or in its group of dependent samples, so the prompt may reveal its answer"
        )
    return ""


def validate_turns(
    earlier: Sequence[Sequence[int]], samples: Sequence[Sample], history: History
) -> list[tuple[int, ...]]:
    """Return the positions of every sample's earlier turns.

    Raises ComponentError, which names the class, if they are invalid.
    """
    if not isinstance(earlier, list | tuple) or len(earlier) != len(samples):
        raise contract_error(history, f"returned {_describe(earlier)}, expected a list with a tuple per sample")
    turns = dict(enumerate(earlier))
    for row, sample in enumerate(samples):
        if problem := _turns_problem(turns[row], sample, turns):
            raise contract_error(history, f"sample {sample.id!r}: {problem}")
    return [tuple(map(int, rows)) for rows in earlier]


def _turns_problem(earlier: object, sample: Sample, turns: Mapping[int, Sequence[int]]) -> str:
    if not isinstance(earlier, list | tuple) or not all(isinstance(row, int | np.integer) for row in earlier):
        return f"got {_describe(earlier)}, expected a tuple of positions"
    if len(earlier) != len(sample.history):
        return f"got {len(earlier)} positions, expected one for each of its {len(sample.history)} earlier turns"
    for n_before, row in enumerate(earlier):
        if row not in turns:
            return f"got the position {row}, expected 0 to {len(turns) - 1}"
        if len(turns[row]) != n_before:
            return (
                f"got a sample with {len(turns[row])} earlier turns as turn {n_before + 1}, expected {n_before} of them"
            )
    return ""


def validate_generation(
    answers: list[GeneratedAnswer], tasks: Sequence[AnswerTask], generator: object
) -> list[GeneratedAnswer]:
    """Return `answers` if they answer the tasks in order. Otherwise raises ComponentError, which names the class."""
    if not isinstance(answers, list) or len(answers) != len(tasks):
        actual = f"{len(answers)} answers" if isinstance(answers, list) else type(answers).__name__
        raise contract_error(
            generator, f"returned {actual}, expected a list of one GeneratedAnswer per task ({len(tasks)})"
        )
    for answer, task in zip(answers, tasks, strict=True):
        if problem := _answer_problem(answer, task.sample.id):
            raise contract_error(generator, problem)
        validate_messages(answer.prompt, task.sample, generator)
    return answers


def _answer_problem(answer: object, sample_id: str) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if not isinstance(answer, GeneratedAnswer) or not isinstance(answer.answer, Answer):
        return f"got {type(answer).__name__} for sample {sample_id!r}, expected a GeneratedAnswer with an Answer"
    if error := answer_error(answer.answer):
        return f"Answer.{error}"
    if answer.answer.request_id != sample_id:
        return f"got the answer {answer.answer.request_id!r} for sample {sample_id!r}, expected its id"
    return "" if isinstance(answer.path, str) else f"got {type(answer.path).__name__} as the path, expected a string"


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    if isinstance(value, Message):
        return f"Message({value.role!r}, {type(value.content).__name__})"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return type(value).__name__
