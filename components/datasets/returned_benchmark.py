"""Checks of what a user's data set returned, before any work begins: files are checked as they are read, classes are
not.
"""

import re
from collections.abc import Collection, Mapping
from types import NoneType
from typing import Any

from components.datasets.assembly import check_samples, check_texts, require_unique
from components.errors import ComponentError
from components.records import Benchmark, Condition, Documents, Evidence, Kind, Sample, Turn

_TEXTS = ("id", "subset", "question", "corpus_prefix")
_OPTIONAL_TEXTS = ("topic", "task", "query", "expansion")
_FLAGS = ("answerable", "held_out")
_UNIT = {"document_id": (str,), "start": (int, NoneType), "end": (int, NoneType), "grade": (int,), "one_of": (int,)}
_NOT_IN_NAMES = re.compile(r"[/\x00-\x1f\x7f\u2028\u2029]")
_ITEMS: Mapping[str, tuple[type, ...]] = {
    "references": (str,), "gold": (Evidence,), "history": (Turn,), "answer_parts": (Collection,),
    "passages": (str,), "conditions": (Collection,), "fake_answers": (str,),
}  # fmt: skip


def check_returned(benchmark: object, source: str) -> None:
    """Raise ComponentError unless `benchmark` is a Benchmark whose fields can be read. `source` names the class.

    Also raises the errors of `require_unique`, `check_texts` and `check_samples`. References are not required.
    """
    if not isinstance(benchmark, Benchmark):
        raise ComponentError(f"{source}: got {type(benchmark).__name__}, expected a Benchmark")
    _require(benchmark.documents, (Documents,), f"{source}, documents")
    _require_several(benchmark.samples, f"{source}, samples")
    if not len(benchmark.samples):
        raise ComponentError(f"{source}: got no samples, expected at least one")
    for position, sample in enumerate(benchmark.samples, start=1):
        _require(sample, (Sample,), f"{source}, sample {position}")
        _check_fields(sample, f"{source}, sample {position} ({sample.id!r})")
    require_unique(benchmark.documents.ids, source, "document")
    check_texts(benchmark.documents, source)
    check_samples(benchmark.documents, tuple(benchmark.samples), source, references_required=False)


def _check_fields(sample: Sample, location: str) -> None:
    for name in _TEXTS:
        _require(getattr(sample, name), (str,), f"{location}, {name}")
    for name in _OPTIONAL_TEXTS:
        _require(getattr(sample, name), (str, NoneType), f"{location}, {name}")
    for name in _FLAGS:
        _require(getattr(sample, name), (bool,), f"{location}, {name}")
    if sample.kind not in tuple(Kind):
        raise ComponentError(f"{location}, kind: got {sample.kind!r}, expected one of {', '.join(Kind)}")
    for name, slug in (("topic", sample.topic), ("task", sample.task)):
        if slug and _NOT_IN_NAMES.search(slug):
            raise ComponentError(f"{location}, {name}: got {slug!r}, expected a name without slashes and line breaks")
    for name, types in _ITEMS.items():
        items = getattr(sample, name)
        _require(items, (tuple, list), f"{location}, {name}")
        for item in items:
            _require(item, types, f"{location}, an item of {name}")
    _check_nested(sample, location)


def _check_nested(sample: Sample, location: str) -> None:
    for unit in sample.gold:
        for name, types in _UNIT.items():
            _require(getattr(unit, name), types, f"{location}, {name} of a unit of gold")
    for turn in sample.history:
        _require(turn.question, (str,), f"{location}, question of a turn")
        _require(turn.answer, (str,), f"{location}, answer of a turn")
    for part in sample.answer_parts:
        _require(part, (tuple, list), f"{location}, an item of answer_parts")
        for wording in part:
            _require(wording, (str,), f"{location}, a wording of answer_parts")
    for pair in sample.conditions:
        if len(pair) != 2:
            raise ComponentError(f"{location}, an item of conditions: got {pair!r:.80}, expected (name, Condition)")
        name, condition = pair
        _require(name, (str,), f"{location}, a name of conditions")
        _require(condition, (Condition,), f"{location}, conditions {name}")
        _require(condition.equals, (tuple, list), f"{location}, conditions {name}, equals")
        for value in (*condition.equals, condition.at_least, condition.at_most):
            _require(value, (str, int, float, NoneType), f"{location}, a value of conditions {name}")


def _require_several(value: Any, location: str) -> None:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        raise ComponentError(f"{location}: got {value!r:.80} of type {type(value).__name__}, expected tuple or list")


def _require(value: Any, types: tuple[type, ...], location: str) -> None:
    if not isinstance(value, types):
        expected = " or ".join("None" if each is NoneType else each.__name__ for each in types)
        raise ComponentError(f"{location}: got {value!r:.80} of type {type(value).__name__}, expected {expected}")
