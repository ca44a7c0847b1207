"""A filter by the metadata of documents."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.limits import expected_one_of
from components.records import AllowedDocuments, Condition, Documents, Sample

_FACTS_OF_CHUNKS = ("section", "page")
"""Facts that depend on how documents are split into chunks."""

_NUMBER_OR_DATE = re.compile(r"[-+]?\.?[0-9]")

_Conditions = tuple[tuple[str, Condition], ...]


@dataclass(frozen=True)
class ByMetadata:
    """Keeps documents whose metadata satisfy `where`, a mapping of field names to conditions.

    With `by_sample` they must also satisfy the conditions of the sample. A document without a field satisfies no
    condition on it. Two numbers are compared as numbers, and other values as text. Text sorts dates correctly if the
    year comes first (ISO 8601). A limit that begins with a digit is satisfied only by values that begin with one:
    `NULL` is not after 2021.
    """

    where: Mapping[str, Condition]
    by_sample: bool = True

    version: ClassVar[int] = 3
    is_open: ClassVar[bool] = False

    def __hash__(self) -> int:
        """Hash the conditions regardless of their order."""
        return hash((frozenset(self.where.items()), self.by_sample))

    def check(self) -> list[str]:
        """Return error messages for empty conditions, and for a filter without conditions."""
        problems = [
            f"where.{name}: is empty, expected `equals` (a list of values), `at_least` or `at_most`"
            for name, condition in self.where.items()
            if condition == Condition()
        ]
        if not self.where and not self.by_sample:
            problems.append("where: is empty, and by_sample is false, expected a condition (for none, filter=none)")
        return problems

    def check_metadata(self, names: Sequence[str], samples: Sequence[Sample]) -> list[str]:
        """Return error messages for names in conditions that no document has, except facts that chunks may have."""
        sample_names = [name for sample in samples for name, _ in sample.conditions] if self.by_sample else []
        asked_for = dict.fromkeys([*self.where, *sample_names])
        return [_unknown_name(name, names) for name in asked_for if name not in names and name not in _FACTS_OF_CHUNKS]

    def allow(self, samples: Sequence[Sample], documents: Documents) -> AllowedDocuments:
        """Return the allowed documents; samples with equal conditions share a group.

        Raises ComponentError for a name that no document has.
        """
        fixed = tuple(self.where.items())
        conditions_by_sample = [fixed + (sample.conditions if self.by_sample else ()) for sample in samples]
        groups = list(dict.fromkeys(conditions_by_sample))
        facts = _facts_by_name(groups, documents)
        allowed = []
        for group in groups:
            satisfied = [facts[name].find_satisfying(condition) for name, condition in group]
            allowed.append(np.flatnonzero(np.logical_and.reduce([np.ones(len(documents), dtype=bool), *satisfied])))
        numbers = {group: i for i, group in enumerate(groups)}
        return AllowedDocuments(
            np.array([numbers[group] for group in conditions_by_sample], dtype=np.int32),
            np.cumsum([0, *map(len, allowed)], dtype=np.int64),
            np.concatenate([np.zeros(0, dtype=np.int32), *allowed]).astype(np.int32),
        )


@dataclass(frozen=True)
class _Facts:
    """The metadata of documents under one name: distinct `values`, and the index of each document's value in `code`."""

    values: Sequence[str | None]
    code: NDArray[np.int64]

    def find_satisfying(self, condition: Condition) -> NDArray[np.bool_]:
        """Return bool[n_documents], True for documents that satisfy the condition."""
        verdicts = [value is not None and _satisfies(value, condition) for value in self.values]
        return np.array(verdicts, dtype=bool)[self.code]


def _facts_by_name(groups: Iterable[_Conditions], documents: Documents) -> dict[str, _Facts]:
    """Return the facts for every name in a condition."""
    names = dict.fromkeys(name for group in groups for name, _ in group)
    there = dict.fromkeys(name for facts in documents.metadata for name in facts)
    if unknown := [name for name in names if name not in there]:
        raise ComponentError(_unknown_name(unknown[0], tuple(there)))
    by_name = {}
    for name in names:
        values = [facts.get(name) for facts in documents.metadata]
        numbers = {value: i for i, value in enumerate(dict.fromkeys(values))}
        by_name[name] = _Facts(list(numbers), np.array([numbers[value] for value in values], dtype=np.int64))
    return by_name


def _unknown_name(name: str, names: Sequence[str]) -> str:
    expected = (
        expected_one_of(name, names)
        if names
        else ", and none has any metadata. See docs/formats.md, Kinds of documents"
    )
    return f"filter: no document has {name!r} among its metadata{expected}"


def _satisfies(value: str, condition: Condition) -> bool:
    return (
        (not condition.equals or any(_compare(value, other) == 0 for other in condition.equals))
        and (condition.at_least is None or _compare(value, condition.at_least) in (0, 1))
        and (condition.at_most is None or _compare(value, condition.at_most) in (-1, 0))
    )


def _compare(value: str, other: str | int | float) -> int | None:
    """Return -1, 0 or 1 if `value` is before, equal to or after the other, None for a word and a number or date."""
    one, two = _as_number(value), _as_number(str(other))
    if one is not None and two is not None:
        return (one > two) - (one < two)
    if _NUMBER_OR_DATE.match(str(other)) and not _NUMBER_OR_DATE.match(value):
        return None
    return (value > str(other)) - (value < str(other))


def _as_number(text: str) -> Decimal | None:
    """Return the exact number: as floats, long numbers such as registration numbers would compare equal."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
