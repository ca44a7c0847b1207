"""Turns of conversations: which questions are turns, and which conversation they belong to."""

from collections.abc import Sequence
from typing import NamedTuple


class ConversationTurn(NamedTuple):
    """The `number` of a turn, from 1, in the conversation that begins with the question `opening`.

    Data sets do not name their conversations, so the opening question identifies one.
    """

    number: int
    opening: str


def conversation_turns(asked: Sequence[Sequence[str]]) -> list[ConversationTurn | None]:
    """Return the turn of each sample, or None for a question that is not a turn.

    `asked` holds the questions of each sample: those of earlier turns, then its question. A single question is a turn
    only if it opens a conversation of another sample.
    """
    openings = {questions[0] for questions in asked if len(questions) > 1}
    return [ConversationTurn(len(questions), questions[0]) if questions[0] in openings else None for questions in asked]
