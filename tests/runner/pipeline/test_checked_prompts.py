"""Prompts, examples, turns, generated answers and origins that break their contracts are errors that name the class."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from components.errors import ComponentError
from components.records import (
    Answer,
    AnswerState,
    AnswerTask,
    Documents,
    Evidence,
    GeneratedAnswer,
    Kind,
    Message,
    Origins,
    Sample,
    Turn,
)
from components.refiners.pieces import Piece, assemble_documents, copy_piece
from runner.pipeline.answers.checked_prompts import (
    validate_examples,
    validate_generation,
    validate_messages,
    validate_turns,
)
from runner.pipeline.corpus.checked_spans import check_origins

SAMPLES = [Sample(name, "qa", Kind.QA, f"{name}?", ("me",), gold=(Evidence(name),)) for name in ("a", "b")]
POOL = [Sample(name, "qa", Kind.QA, f"{name}?", ("me",), gold=(Evidence(name),)) for name in ("c", "d", "a")]
POOL += [Sample("e", "qa", Kind.QA, "e?", (), gold=(Evidence("c"),)), Sample("f", "qa", Kind.QA, "f?", ("me",))]
CORPUS = Documents(["a", "c", "d"], ["", "", ""], ["", "", ""])
PROMPT = (Message("user", "who?"),)
DONE = [GeneratedAnswer(Answer(own.id, AnswerState.OK, "me"), PROMPT, "once") for own in SAMPLES]
TASKS = [AnswerTask(own, ()) for own in SAMPLES]


class Mine:
    n = 2
    has_rounds = True


def refused(message: str) -> Any:
    return pytest.raises(ComponentError, match=rf"^{__name__}\.Mine: .*{re.escape(message)}")


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("who?", "got str for sample 'a', expected a tuple of Message"),
        ((), "got a tuple of 0 for sample 'a', expected a tuple of Message"),
        (({"role": "user"},), "got dict for sample 'a', expected a Message with a string"),
        ((Message("user", None),), "got Message('user', NoneType) for sample 'a'"),  # type: ignore[arg-type]
        ((Message("human", "x"),), "one of system, user, assistant as its role"),
    ],
)
def test_invalid_messages_are_rejected(messages: Any, message: str) -> None:
    with refused(message):
        validate_messages(messages, SAMPLES[0], Mine())
    assert validate_messages(list(PROMPT), SAMPLES[0], Mine()) == PROMPT


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([[0, 1], [0, 1]], "returned a list of 2, expected an array of integers with 2 rows of 2"),
        (np.array([[0], [1]]), "returned int64 of shape (2, 1)"),
        (np.array([[0, 1], [0, 5]]), "sample 'b' has the example 5, expected 0 to 4"),
        (np.array([[0, 1], [1, 1]]), "sample 'b' has the example 1 twice"),
        (np.array([[0, 1], [0, 3]]), "the example 'e' has no reference, or no gold in its corpus"),
        (np.array([[0, 1], [0, 4]]), "the example 'f' has no reference, or no gold in its corpus"),
        (
            np.array([[0, 2], [0, 1]]),
            "sample 'a' has the example 'a', which is the sample itself or in its group",
        ),
    ],
)
def test_invalid_example_choices_are_rejected(chosen: Any, message: str) -> None:
    mine: Any = Mine()
    with refused(message):
        validate_examples(chosen, SAMPLES, POOL, CORPUS, mine)
    assert validate_examples(np.array([[0, 1], [2, 0]]), SAMPLES, POOL, CORPUS, mine).tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        (None, "returned NoneType, expected a list with a tuple per sample"),
        ([(), (), ()], "returned a list of 3, expected a list with a tuple per sample"),
        ([(), 0], "sample 'b': got int, expected a tuple of positions"),
        ([(), ()], "sample 'b': got 0 positions, expected one for each of its 1 earlier turns"),
        ([(), (2,)], "sample 'b': got the position 2, expected 0 to 1"),
        ([(), (1,)], "sample 'b': got a sample with 1 earlier turns as turn 1, expected 0 of them"),
    ],
)
def test_invalid_earlier_turns_are_rejected(earlier: Any, message: str) -> None:
    samples = [SAMPLES[0], replace(SAMPLES[1], history=(Turn("a?", "me"),))]
    mine: Any = Mine()
    with refused(message):
        validate_turns(earlier, samples, mine)
    assert validate_turns([(), (0,)], samples, mine) == [(), (0,)]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (iter(DONE), "returned list_iterator, expected a list of one GeneratedAnswer per task (2)"),
        (DONE[:1], "returned 1 answers, expected a list of one GeneratedAnswer per task (2)"),
        (DONE[::-1], "got the answer 'b' for sample 'a', expected its id"),
        ([DONE[0], DONE[1].answer], "got Answer for sample 'b', expected a GeneratedAnswer"),
        ([DONE[0], replace(DONE[1], answer=Answer("b", AnswerState.OK, None))], "Answer.text: got None"),  # type: ignore[arg-type]
        ([DONE[0], replace(DONE[1], path=None)], "got NoneType as the path"),  # type: ignore[arg-type]
        ([DONE[0], replace(DONE[1], prompt=())], "got a tuple of 0 for sample 'b', expected a tuple of Message"),
    ],
)
def test_invalid_generations_are_rejected(made: Any, message: str) -> None:
    with refused(message):
        validate_generation(made, TASKS, Mine())
    assert validate_generation(DONE, TASKS, Mine()) is DONE


ORIGINALS = Documents(["a", "b"], ["", ""], ["one two", "three"])
REFINED = assemble_documents(ORIGINALS, [[copy_piece("one two", 4), Piece("1", 0, 3)], [copy_piece("three")]])


def origins(row: int, **changes: int | bool) -> Origins:
    columns = {name: column.copy() for name, column in vars(REFINED.origins).items()}
    for name, value in changes.items():
        columns[name][row] = value
    return Origins(**columns)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "returned NoneType as origins, expected Origins"),
        (replace(REFINED.origins, start=[0, 3, 0]), "columns are not one-dimensional arrays"),
        (replace(REFINED.origins, is_copy=np.array([1, 0, 1])), "columns are not integers, with booleans in is_copy"),
        (replace(REFINED.origins, end=REFINED.origins.end[:2]), "columns of [3, 3, 2, 3, 3, 3] rows"),
        (origins(2, document=2), "piece 2 is of document 2, expected 0 to 1"),
        (origins(2, end=6), "piece 2 is characters 0 to 6 of the refined document 1, which has 5"),
        (origins(2, original_end=6), "piece 2 comes from characters 0 to 6 of document 1, which has 5"),
        (origins(1, original_start=-1), "piece 1 comes from characters -1 to 3"),
        (origins(1, start=2), "piece 1 begins before the end of piece 0"),
        (origins(0, original_start=3, original_end=6), "piece 0 is a copy, but characters 0 to 3 of the refined"),
        (origins(1, is_copy=True), "piece 1 is a copy, but characters 3 to 4"),
    ],
)
def test_invalid_origins_are_rejected(wrong: Any, message: str) -> None:
    with refused(message):
        check_origins(wrong, REFINED.texts, ORIGINALS.texts, Mine())
    check_origins(REFINED.origins, REFINED.texts, ORIGINALS.texts, Mine())
