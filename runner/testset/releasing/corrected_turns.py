"""Conversations of which a turn was corrected: the turns after it were judged with another history."""

from collections.abc import Sequence
from dataclasses import replace

from components.records import Turn
from components.testset.records import Draft


def to_judge_again(corrected: Sequence[Draft], survivors: Sequence[Draft]) -> list[Draft]:
    """The corrected drafts, and of their conversations the `survivors` after the first of them, each with the turns
    before it as they are now. Where a turn is out, those after it are too: of them only what was corrected is told.
    """
    found = [draft for draft in corrected if not draft.conversation]
    conversations: dict[str, dict[int, Draft]] = {own.conversation: {} for own in corrected if own.conversation}
    for draft in (*survivors, *corrected):
        if draft.conversation in conversations:
            conversations[draft.conversation][draft.turn] = draft
    places = {(draft.conversation, draft.turn) for draft in corrected}
    for name, turns in conversations.items():
        history: tuple[Turn, ...] = ()
        has_changed = False
        for turn, draft in sorted(turns.items()):
            is_corrected = (name, turn) in places
            if turn == len(history):
                has_changed |= is_corrected
                found += [replace(draft, history=history)] if has_changed else []
                history = (*history, Turn(draft.question, draft.references[0]))
            elif is_corrected:
                found.append(draft)
    return found
