"""Groups of samples for which results are reported: their names, and the groups and the turn of each sample."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

OVERALL = "overall"
"""All samples: the micro mean."""

MACRO = "macro"
"""The mean over the data set's subsets."""

UNNAMED = "all"
"""The subset of samples whose data set names no subset."""

TURN = "turn"
"""The first part of the names of groups of turns: "turn/1" holds the first turns of all conversations."""

BY_CONVERSATION = f"{TURN}/by_conversation"
"""The mean over conversations: a long conversation counts as much as a short one."""

GROUPINGS = ("topic", "task", "matrix", TURN)
"""First parts of the names of groups that cut across the data set's subsets."""

AVERAGE = "all"
"""The name of the row over all topics and of the column over all tasks in a topic x task matrix."""


def in_order(slugs: Collection[str], labels: Iterable[str]) -> list[str]:
    """Return slugs of topics or tasks in the order of their `labels` if all have one, else sorted."""
    positions = {slug: number for number, slug in enumerate(labels)}
    return sorted(slugs, key=positions.__getitem__ if positions.keys() >= set(slugs) else None)


def list_subsets(subset: str, topic: str | None, task: str | None) -> list[str]:
    """Return every group of a sample: overall, prefixes of its subset, its topic, its task, its matrix field."""
    parts = subset.split("/")
    names = [OVERALL, *("/".join(parts[:n]) for n in range(1, len(parts) + 1))]
    if topic:
        names.append(f"topic/{topic}")
    if task:
        names.append(f"task/{task}")
    if topic and task:
        names.append(f"matrix/{topic}/{task}")
    return names


def readable_name(subset: str, labels: Mapping[str, str]) -> str:
    """Return the name of a group with labels in place of slugs that are hashes, which names in other scripts have:
    "topic/基金" for "topic/3f2a91c0". `labels` are by slug.
    """
    whole = labels.get(subset, "")
    if whole and not whole.isascii():
        return whole
    parts = ((part, labels.get(part, "")) for part in subset.split("/"))
    return "/".join(part if label.isascii() else label for part, label in parts)


class ConversationTurn(NamedTuple):
    """The `number` of a turn, from 1, in the conversation that begins with the question `opening`.

    Data sets do not name their conversations, so the opening question identifies one.
    """

    number: int
    opening: str


def conversation_turns(conversations: Sequence[Sequence[str]]) -> list[ConversationTurn | None]:
    """Return the turn of each sample, or None for a question that is not a turn.

    `conversations` holds the questions of each sample: earlier turns first, its own question last. A single question is
    a turn only if it opens a conversation of another sample.
    """
    openings = {questions[0] for questions in conversations if len(questions) > 1}
    return [
        ConversationTurn(len(questions), questions[0]) if questions[0] in openings else None
        for questions in conversations
    ]
