"""Joins facts of chunks to the distinct facts of a corpus, in which equal phrases are one."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from components.records import Fact, FactRows, FactTable
from components.text.normalize import is_word_character

_Forms = tuple[str, str, str]


@lru_cache(maxsize=100_000)
def phrase_form(text: str) -> str:
    """Return the form in which phrases are compared: NFKC, case folded, whitespace collapsed, without punctuation and
    symbols at both ends. "" for a text without a letter or digit.
    """
    form = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    positions = [position for position, character in enumerate(form) if is_word_character(character)]
    return form[positions[0] : positions[-1] + 1] if positions else ""


def fact_table(stated: Iterable[tuple[int, Fact]], n_chunks: int) -> FactTable:
    """Return the distinct facts. `stated` are facts with the positions of their chunks.

    A fact whose subject or object has no letter or digit is left out.
    """
    pairs = {(chunk, forms) for chunk, fact in stated if (forms := _forms(fact))}
    facts = sorted({forms for _, forms in pairs})
    phrases = sorted({phrase for forms in facts for phrase in (forms[0], forms[2])})
    number_of_fact = {forms: number for number, forms in enumerate(facts)}
    number_of_phrase = {phrase: number for number, phrase in enumerate(phrases)}
    mentions = np.array(sorted((chunk, number_of_fact[forms]) for chunk, forms in pairs), dtype=np.int32).reshape(-1, 2)
    return FactTable(
        phrases,
        [" ".join(filter(None, forms)) for forms in facts],
        np.array([number_of_phrase[forms[0]] for forms in facts], dtype=np.int32),
        np.array([number_of_phrase[forms[2]] for forms in facts], dtype=np.int32),
        np.ascontiguousarray(mentions[:, 0]),
        np.ascontiguousarray(mentions[:, 1]),
        n_chunks,
    )


def _forms(fact: Fact) -> _Forms | None:
    subject, relation, other = map(phrase_form, (fact.subject, fact.relation, fact.object))
    return (subject, relation, other) if subject and other else None


def facts_within(table: FactTable, first: int, last: int) -> FactRows:
    """Return the facts that the chunks from `first` to `last` - 1 state."""
    rows = slice(*np.searchsorted(table.chunk, [first, last]))
    fact_rows, fact = _renumber(table.fact[rows])
    ends = np.concatenate([table.subject[fact_rows], table.object[fact_rows]])
    phrase_rows, ends = _renumber(ends)
    subject, other = ends[: len(fact_rows)], ends[len(fact_rows) :]
    return FactRows(fact_rows, phrase_rows, subject, other, table.chunk[rows] - np.int32(first), fact, last - first)


def _renumber(numbers: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct numbers in ascending order, and the index of each number in them."""
    distinct, places = np.unique(numbers, return_inverse=True)
    return distinct.astype(np.int32), places.ravel().astype(np.int32)
