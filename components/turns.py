"""Turns of conversations: which questions are some, and of which conversation."""

from collections.abc import Sequence
from typing import NamedTuple


class ConversationTurn(NamedTuple):
    """The `number` of a turn, from 1, in the conversation that begins with the question `opening`: no data set names
    its conversations otherwise.
    """

    number: int
    opening: str


def conversation_turns(asked: Sequence[Sequence[str]]) -> list[ConversationTurn | None]:
    """What is asked of each sample is its question, after those of the turns before it. None for a question that is no
    turn: there is none before it, and it opens no conversation.
    """
    openings = {questions[0] for questions in asked if len(questions) > 1}
    return [ConversationTurn(len(questions), questions[0]) if questions[0] in openings else None for questions in asked]
