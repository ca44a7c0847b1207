"""Topics from the names in a topic tree: what may stand in one, and the slugs of its leaves."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from components.errors import DataError
from components.json_value import Json
from components.testset.records import Topic
from components.text.slugs import slugs_of

DEEPEST, MOST_TOPICS, LONGEST_NAME = 8, 500, 200
"""Levels below the root, leaves, and characters of a name: more is no tree that voters could choose from."""

_JOINED_BY = " - "


class Leaf(NamedTuple):
    """A topic by the names from the root's child down to it, and what belongs to it."""

    path: tuple[str, ...]
    description: str = ""


def topics_of(leaves: Iterable[Leaf], where: str, depth: int | None = None) -> tuple[Topic, ...]:
    """The topics, in order. With `depth` the levels below that are no topics of their own: their names are told as
    what belongs to the topic above them.

    Raises DataError, which begins with `where`, without any topic, for more than 500, for names that are blank or of
    more than 200 characters, for paths of more than 8 names, and where two topics cannot be told apart.
    """
    kept = _merged(leaves, where, depth)
    if not kept:
        raise DataError(f"{where}: has no topics; expected at least one, e.g. {{Banking: [Loans, Cards]}}")
    topics = [Topic("", path, _description(path, merged)) for path, merged in kept.items()]
    labels = _labels(topics)
    slugs = [slugs_of([label])[label] for label in labels]
    for slug, n in Counter(slugs).items():
        if n > 1:
            alike = " and ".join(f"'{label}'" for label, own in zip(labels, slugs, strict=True) if own == slug)
            raise DataError(f"{where}: the topics {alike} have the same short form '{slug}'; rename one of them")
    return tuple(Topic(slug, topic.path, topic.description) for slug, topic in zip(slugs, topics, strict=True))


def _merged(leaves: Iterable[Leaf], where: str, depth: int | None) -> dict[tuple[str, ...], list[Leaf]]:
    """The leaves by the path of the topic that they belong to. Raises DataError."""
    kept: dict[tuple[str, ...], list[Leaf]] = {}
    for leaf in leaves:
        path = tuple(checked_name(name, where) for name in leaf.path)
        if len(path) > DEEPEST:
            raise too_deep(path, where)
        kept.setdefault(path[:depth], []).append(Leaf(path, shown_text(leaf.description)))
        if len(kept) > MOST_TOPICS:
            raise DataError(f"{where}: more than {MOST_TOPICS} topics came; expected fewer: leave out the lowest level")
    inner = {path[:n] for path in kept for n in range(1, len(path))}
    for path, merged in kept.items():
        if path in inner or (len(merged) > 1 and any(len(leaf.path) == len(path) for leaf in merged)):
            raise DataError(
                f"{where}: the topic '{path[-1]}' came twice under one parent; expected it once: remove one"
            )
    return kept


def nested(topics: Iterable[Topic]) -> dict[str, Json]:
    """Names as mappings, descriptions under the leaves: of which `topics=file` makes the same topics."""
    tree: dict[str, Json] = {}
    for topic in topics:
        place = tree
        for name in topic.path[:-1]:
            place = place.setdefault(name, {})
        place[topic.path[-1]] = topic.description or None
    return tree


def labels_of(topics: Sequence[Topic]) -> dict[str, str]:
    """By slug, the name that a data set gives to a topic: loaded with it, a sample gets this slug again. It is the
    leaf's own name, or all names of its path where another leaf is called the same.
    """
    return {topic.slug: label for topic, label in zip(topics, _labels(topics), strict=True)}


def _labels(topics: Sequence[Topic]) -> list[str]:
    forms = [slugs_of([topic.path[-1]])[topic.path[-1]] for topic in topics]
    n_of = Counter(forms)
    return [
        topic.path[-1] if n_of[form] == 1 else _JOINED_BY.join(topic.path)
        for topic, form in zip(topics, forms, strict=True)
    ]


def _description(path: tuple[str, ...], merged: Sequence[Leaf]) -> str:
    below = dict.fromkeys(name for leaf in merged for name in leaf.path[len(path) :])
    return ", ".join(below) or merged[0].description


def checked_name(name: object, where: str) -> str:
    """A name in composed form, without characters that are not shown. Raises DataError for what is no name."""
    if not isinstance(name, str):
        raise DataError(f"{where}: {name!r} ({type(name).__name__}) came as a topic's name; expected a text: quote it")
    shown = shown_text(name)
    if not shown:
        raise DataError(f"{where}: a blank name came ({name!r}); expected the name of a topic")
    if len(shown) > LONGEST_NAME:
        raise DataError(
            f"{where}: a name of {len(shown)} characters came ({shown[:40]}...); expected at most {LONGEST_NAME}: say "
            "the rest in a description"
        )
    return shown


def shown_text(text: str) -> str:
    """The text in one line, without control and format characters, such as marks of direction."""
    kept = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf")
    )
    return " ".join(unicodedata.normalize("NFC", kept).split())


def too_deep(path: Sequence[str], where: str) -> DataError:
    """For a path that does not end."""
    names = " / ".join(path[:3])
    return DataError(
        f"{where}: more than {DEEPEST} levels came (below {names}); expected at most {DEEPEST}, none below itself"
    )
