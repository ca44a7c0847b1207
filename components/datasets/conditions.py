"""Conditions that a user's questions bring, on the metadata of the documents that may be found."""

import json
from math import isfinite

from components.datasets.json_fields import Record, as_record
from components.errors import DataError
from components.records import Condition

Value = str | int | float


def read_conditions(record: Record, where: str) -> tuple[tuple[str, Condition], ...]:
    """Of the field `conditions`: by name a value, a list of values, or {"equals", "at_least", "at_most"}; () if the
    record has none. Raises DataError.
    """
    where = f"{where}, field 'conditions'"
    raw = {} if record.get("conditions") is None else as_record(record["conditions"], where)
    return tuple((name, read_condition(value, f"{where}, '{name}'")) for name, value in raw.items())


def read_condition(value: object, where: str) -> Condition:
    """One of these. Raises DataError."""
    asked = as_record(value, where) if isinstance(value, dict) else {"equals": value}
    equals = [] if asked.get("equals") is None else asked["equals"]
    bounds = {name: _value(asked[name], where) for name in ("at_least", "at_most") if asked.get(name) is not None}
    values = [_value(each, where) for each in (equals if isinstance(equals, list | tuple) else [equals])]
    if not (values or bounds) or not set(asked) <= {"equals", "at_least", "at_most"}:
        raise _not_wanted(value, where)
    return Condition(tuple(values), bounds.get("at_least"), bounds.get("at_most"))


def _value(value: object, where: str) -> Value:
    is_finite = not isinstance(value, float) or isfinite(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not is_finite:
        raise _not_wanted(value, where)
    return value


def _not_wanted(value: object, where: str) -> DataError:
    came = json.dumps(value, ensure_ascii=False, default=repr)
    return DataError(
        f"{where}: {came} came, expected a text or a number, a list of them, or an object of `equals`, `at_least` and "
        "`at_most`."
    )
