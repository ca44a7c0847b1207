"""Topics from the names in a topic tree: valid names, and the slugs of the leaves."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from components.errors import DataError
from components.json_value import Json
from components.testset.records import Topic
from components.text.slugs import make_slugs

MAX_LEVELS, MAX_TOPICS, MAX_NAME_CHARACTERS = 8, 500, 200
"""Levels below the root, leaves, and characters of a name. Voters could not choose from a larger tree."""

_JOINED_BY = " - "


class Leaf(NamedTuple):
    """A topic: the names on its path below the root, and its description."""

    path: tuple[str, ...]
    description: str = ""


def list_topics(leaves: Iterable[Leaf], location: str, depth: int | None = None) -> tuple[Topic, ...]:
    """Return the topics, in order. With `depth`, deeper levels are not topics: their names describe the topic above
    them.

    Raises DataError, which begins with `location`, if there is no topic, for more than 500 topics, for blank names or
    names of more than 200 characters, for paths of more than 8 names, and for topics that cannot be distinguished.
    """
    merged_leaves = _merge(leaves, location, depth)
    if not merged_leaves:
        raise DataError(f"{location}: has no topics, expected at least one, e.g. {{Banking: [Loans, Cards]}}")
    topics = [Topic("", path, _description(path, merged)) for path, merged in merged_leaves.items()]
    labels = _labels(topics)
    slugs = [make_slugs([label])[label] for label in labels]
    for slug, n in Counter(slugs).items():
        if n > 1:
            alike = " and ".join(f"'{label}'" for label, other in zip(labels, slugs, strict=True) if other == slug)
            raise DataError(f"{location}: the topics {alike} have the same short form '{slug}'. Rename one of them.")
    return tuple(Topic(slug, topic.path, topic.description) for slug, topic in zip(slugs, topics, strict=True))


def _merge(leaves: Iterable[Leaf], location: str, depth: int | None) -> dict[tuple[str, ...], list[Leaf]]:
    """Return the leaves by the path of their topic. Raises DataError for an invalid tree."""
    by_path: dict[tuple[str, ...], list[Leaf]] = {}
    for leaf in leaves:
        path = tuple(normalize_name(name, location) for name in leaf.path)
        if len(path) > MAX_LEVELS:
            raise depth_error(path, location)
        by_path.setdefault(path[:depth], []).append(Leaf(path, shown_text(leaf.description)))
        if len(by_path) > MAX_TOPICS:
            raise DataError(f"{location}: got more than {MAX_TOPICS} topics. Leave out the lowest level.")
    inner = {path[:n] for path in by_path for n in range(1, len(path))}
    for path, merged in by_path.items():
        if path in inner or (len(merged) > 1 and any(len(leaf.path) == len(path) for leaf in merged)):
            raise DataError(
                f"{location}: got the topic '{path[-1]}' twice under one parent, expected it once. Remove one."
            )
    return by_path


def nest(topics: Iterable[Topic]) -> dict[str, Json]:
    """Return the topics as nested mappings of names, with descriptions under the leaves. `topics=file` reads them
    back.
    """
    tree: dict[str, Json] = {}
    for topic in topics:
        node = tree
        for name in topic.path[:-1]:
            node = node.setdefault(name, {})
        node[topic.path[-1]] = topic.description or None
    return tree


def label_topics(topics: Sequence[Topic]) -> dict[str, str]:
    """Return the data set label of each topic by slug. Loading a sample with this label yields the same slug.

    The label is the leaf's name, or all names of its path if another leaf has the same name.
    """
    return {topic.slug: label for topic, label in zip(topics, _labels(topics), strict=True)}


def _labels(topics: Sequence[Topic]) -> list[str]:
    forms = [make_slugs([topic.path[-1]])[topic.path[-1]] for topic in topics]
    n_of = Counter(forms)
    return [
        topic.path[-1] if n_of[form] == 1 else _JOINED_BY.join(topic.path)
        for topic, form in zip(topics, forms, strict=True)
    ]


def _description(path: tuple[str, ...], merged: Sequence[Leaf]) -> str:
    below = dict.fromkeys(name for leaf in merged for name in leaf.path[len(path) :])
    return ", ".join(below) or merged[0].description


def normalize_name(name: object, location: str) -> str:
    """Return a name in composed form, without invisible characters. Raises DataError for an invalid name."""
    if not isinstance(name, str):
        raise DataError(
            f"{location}: got {name!r} ({type(name).__name__}) as a topic's name, expected a string. Quote it."
        )
    text = shown_text(name)
    if not text:
        raise DataError(f"{location}: got a blank name ({name!r}), expected the name of a topic")
    if len(text) > MAX_NAME_CHARACTERS:
        raise DataError(
            f"{location}: got a name of {len(text)} characters ({text[:40]}...), expected at most "
            f"{MAX_NAME_CHARACTERS}. Move the rest to a description."
        )
    return text


def shown_text(text: str) -> str:
    """Return the text on one line, without control and format characters, such as direction marks."""
    visible = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf")
    )
    return " ".join(unicodedata.normalize("NFC", visible).split())


def depth_error(path: Sequence[str], location: str) -> DataError:
    """Return the error for a path with too many levels."""
    names = " / ".join(path[:3])
    return DataError(
        f"{location}: got more than {MAX_LEVELS} levels (below {names}), expected at most {MAX_LEVELS}, "
        "no topic below itself"
    )
