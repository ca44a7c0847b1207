"""The groups of samples that results speak of: their names, and which samples are in them."""

from collections.abc import Collection, Iterable

OVERALL = "overall"
"""All samples: the micro mean."""

MACRO = "macro"
"""The mean over the data set's subsets."""

UNNAMED = "all"
"""The subset of samples for which their data set names none."""

TURN = "turn"
"""The first part of the names of groups of turns: "turn/1" are all first turns of conversations."""

BY_CONVERSATION = f"{TURN}/by_conversation"
"""The mean over conversations: a long one counts as much as a short one."""

GROUPINGS = ("topic", "task", "matrix", TURN)
"""First parts of the names of groups that cut across the data set's own subsets."""

AVERAGE = "all"
"""Of a topic x task matrix, the row over all topics and the column over all tasks."""


def in_order(slugs: Collection[str], labels: Iterable[str]) -> list[str]:
    """Slugs of topics or tasks: in the order of their `labels` if all have one, else by themselves."""
    place = {slug: number for number, slug in enumerate(labels)}
    return sorted(slugs, key=place.__getitem__ if place.keys() >= set(slugs) else None)


def subsets_of(subset: str, topic: str | None, task: str | None) -> list[str]:
    """Every group that a sample counts in: overall, prefixes of its subset, its topic, its task, its matrix cell."""
    parts = subset.split("/")
    names = [OVERALL, *("/".join(parts[:n]) for n in range(1, len(parts) + 1))]
    if topic:
        names.append(f"topic/{topic}")
    if task:
        names.append(f"task/{task}")
    if topic and task:
        names.append(f"matrix/{topic}/{task}")
    return names
