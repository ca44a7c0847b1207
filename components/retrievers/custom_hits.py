"""Hits of custom searches: passages as hits, in the order of the queries."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from components.records import IndexedText
from components.user_code.returned_passages import read_passages

T = TypeVar("T")


def read_hits(value: object, depth: int) -> list[IndexedText]:
    """Return the first `depth` passages of a reply: a list, or a mapping with `passages`.

    Raises BadReply for a reply of another form.
    """
    passages = read_passages(value.get("passages") if isinstance(value, Mapping) else value)
    return [IndexedText(passage.text, passage.source, passage.document_id) for passage in passages[:depth]]


def in_order(outcomes: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield outcomes that arrive in any order by their numbers, from 0."""
    waiting: dict[int, T] = {}
    following = 0
    for number, outcome in outcomes:
        waiting[number] = outcome
        while following in waiting:
            yield waiting.pop(following)
            following += 1
