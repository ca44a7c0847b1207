from collections.abc import Sequence

import pytest

from components.generators.self_consistency import SelfConsistency
from components.records import Answer, AnswerState, GeneratedAnswer
from tests.contracts.generator_contract import GeneratorContract, Model, render, task


class TestSelfConsistency(GeneratorContract):
    component = SelfConsistency(n_draws=3)


def elected(*replies: str | AnswerState) -> GeneratedAnswer:
    """The answer that these draws elect."""

    def drawn(request_id: str, reply: str | AnswerState) -> Answer:
        if isinstance(reply, AnswerState):
            return Answer(request_id, reply, "42." if reply is AnswerState.TRUNCATED else "")
        return Answer(request_id, AnswerState.OK, reply)

    model = Model(lambda request: drawn(request.id, replies[request.draw]))
    (made,) = SelfConsistency(len(replies)).generate([task(2)], render, model)
    return made


@pytest.mark.parametrize(
    ("replies", "text", "path"),
    [
        (["41", "42", "42"], "42", "2 of 3"),
        (["In 1932.", "1933", "in 1932"], "In 1932.", "2 of 3"),  # equal except for case and full stop; the first wins
        (["a", "b", "c"], "a", "1 of 3"),
        (["b", "a", "a", "b"], "b", "2 of 4"),
        (["a", AnswerState.EMPTY, AnswerState.REFUSED], "", "2 of 3"),  # no text is a vote for no text
        ([AnswerState.TRUNCATED, "42", "7"], "42", "2 of 3"),  # among equal texts, a complete one wins
    ],
)
def test_most_common_drawn_answer_wins(replies: Sequence[str | AnswerState], text: str, path: str) -> None:
    made = elected(*replies)
    assert (made.answer.text, made.path) == (text, path)


def test_self_consistency_takes_the_state_of_the_winning_answer() -> None:
    assert elected("a", AnswerState.EMPTY, AnswerState.REFUSED).answer.state is AnswerState.EMPTY
    assert elected(AnswerState.TRUNCATED, "42", "7").answer.state is AnswerState.OK
    assert elected(AnswerState.TRUNCATED, "7", "8").answer.state is AnswerState.TRUNCATED


def test_self_consistency_rejects_a_single_draw() -> None:
    assert SelfConsistency(1).check() == ["n_draws: got 1, expected at least 2 (for one, generator=single)"]
