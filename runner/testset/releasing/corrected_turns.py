"""Finds the turns that have to be judged again because an earlier turn of their conversation was corrected."""

from collections.abc import Sequence
from dataclasses import replace

from components.records import Turn
from components.testset.records import Draft


def drafts_to_rejudge(corrected: Sequence[Draft], survivors: Sequence[Draft]) -> list[Draft]:
    """Return the corrected drafts, and the `survivors` after the first corrected turn of a conversation.

    Each gets its current earlier turns as its history. A turn after a rejected one is left out, unless it was itself
    corrected.
    """
    drafts = [draft for draft in corrected if not draft.conversation]
    conversations: dict[str, dict[int, Draft]] = {
        corrected_draft.conversation: {} for corrected_draft in corrected if corrected_draft.conversation
    }
    for draft in (*survivors, *corrected):
        if draft.conversation in conversations:
            conversations[draft.conversation][draft.turn] = draft
    corrected_turns = {(draft.conversation, draft.turn) for draft in corrected}
    for name, turns in conversations.items():
        history: tuple[Turn, ...] = ()
        has_changed = False
        for turn, draft in sorted(turns.items()):
            is_corrected = (name, turn) in corrected_turns
            if turn == len(history):
                has_changed |= is_corrected
                drafts += [replace(draft, history=history)] if has_changed else []
                history = (*history, Turn(draft.question, draft.references[0]))
            elif is_corrected:
                drafts.append(draft)
    return drafts
