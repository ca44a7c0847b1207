"""Checks of what a user's data set returned, before any work begins: files are checked as they are read, classes are
not.
"""

import re
from collections.abc import Mapping
from types import NoneType
from typing import Any

from components.datasets.assembly import check_documents, check_samples
from components.errors import ComponentError
from components.records import Benchmark, Condition, Documents, Evidence, Kind, Sample, Turn

_TEXT, _OPTIONAL, _FLAG = (str,), (str, NoneType), (bool,)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "id": _TEXT, "subset": _TEXT, "kind": (Kind,), "question": _TEXT, "topic": _OPTIONAL, "task": _OPTIONAL,
    "query": _TEXT, "corpus_prefix": _TEXT, "expansion": _TEXT, "answerable": _FLAG, "held_out": _FLAG,
}  # fmt: skip
_ITEMS: Mapping[str, type] = {
    "references": str, "gold": Evidence, "history": Turn, "answer_parts": tuple, "passages": str, "conditions": tuple,
    "fake_answers": str,
}  # fmt: skip
_LISTS = (tuple, list)
_SLUG = re.compile(r"[\w.-]+", re.ASCII)


def check_returned(benchmark: object, source: str) -> None:
    """Raise ComponentError unless `benchmark` is a Benchmark, with fields of the declared types. `source` names the
    class.

    Also raises the errors of `check_documents` and `check_samples`. References are not required.
    """
    if not isinstance(benchmark, Benchmark):
        raise ComponentError(f"{source}: got {type(benchmark).__name__}, expected a Benchmark")
    _require(benchmark.documents, (Documents,), f"{source}, documents")
    _require(benchmark.samples, _LISTS, f"{source}, samples")
    if not benchmark.samples:
        raise ComponentError(f"{source}: it has no samples, expected at least one")
    for position, sample in enumerate(benchmark.samples, start=1):
        _require(sample, (Sample,), f"{source}, sample {position}")
        _check_types(sample, f"{source}, sample {position} ({sample.id!r})")
    check_documents(benchmark.documents, source)
    check_samples(benchmark.documents, benchmark.samples, source, references_required=False)


def _check_types(sample: Sample, location: str) -> None:
    for name, types in _TYPES.items():
        _require(getattr(sample, name), types, f"{location}, {name}")
    for name, item_type in _ITEMS.items():
        items = getattr(sample, name)
        _require(items, _LISTS, f"{location}, {name}")
        for item in items:
            _require(item, _LISTS if item_type is tuple else (item_type,), f"{location}, an item of {name}")
    for name, slug in (("topic", sample.topic), ("task", sample.task)):
        if slug is not None and not _SLUG.fullmatch(slug):
            raise ComponentError(
                f"{location}, {name}: got {slug!r}, expected ASCII letters, digits, and _ . - (a label may have others)"
            )
    for wording in (wording for part in sample.answer_parts for wording in part):
        _require(wording, _TEXT, f"{location}, a wording of answer_parts")
    for name, condition in sample.conditions:
        _require(name, _TEXT, f"{location}, a name of conditions")
        _require(condition, (Condition,), f"{location}, conditions {name}")


def _require(value: Any, types: tuple[type, ...], location: str) -> None:
    if not isinstance(value, types):
        expected = " or ".join("None" if each is NoneType else each.__name__ for each in types)
        raise ComponentError(f"{location}: got {value!r:.80} of type {type(value).__name__}, expected {expected}")
