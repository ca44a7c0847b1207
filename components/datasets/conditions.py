"""Conditions in a user's questions on the metadata of the documents that a search may return."""

import json
from math import isfinite

from components.datasets.json_fields import Record, as_record
from components.errors import DataError
from components.records import Condition

Value = str | int | float


def read_conditions(record: Record, where: str) -> tuple[tuple[str, Condition], ...]:
    """Read the field `conditions`, which maps names of metadata to conditions; see `read_condition`.

    Return () for a record without the field. Raises DataError if the field has another form.
    """
    where = f"{where}, field 'conditions'"
    raw = {} if record.get("conditions") is None else as_record(record["conditions"], where)
    return tuple((name, read_condition(value, f"{where}, '{name}'")) for name, value in raw.items())


def read_condition(value: object, where: str) -> Condition:
    """Read a condition: a value, a list of values, or {"equals", "at_least", "at_most"}.

    Raises DataError for other objects, and for values that are not strings or numbers.
    """
    asked = as_record(value, where) if isinstance(value, dict) else {"equals": value}
    equals = [] if asked.get("equals") is None else asked["equals"]
    bounds = {name: _value(asked[name], where) for name in ("at_least", "at_most") if asked.get(name) is not None}
    values = [_value(each, where) for each in (equals if isinstance(equals, list | tuple) else [equals])]
    if not (values or bounds) or not set(asked) <= {"equals", "at_least", "at_most"}:
        raise _bad_condition(value, where)
    return Condition(tuple(values), bounds.get("at_least"), bounds.get("at_most"))


def _value(value: object, where: str) -> Value:
    is_finite = not isinstance(value, float) or isfinite(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not is_finite:
        raise _bad_condition(value, where)
    return value


def _bad_condition(value: object, where: str) -> DataError:
    got = json.dumps(value, ensure_ascii=False, default=repr)
    return DataError(
        f"{where}: got {got}, expected a string or a number, a list of them, or an object with `equals`, `at_least` or "
        "`at_most`."
    )
