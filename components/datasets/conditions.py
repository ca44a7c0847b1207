"""Conditions in a user's questions on the metadata of the documents that a search may return."""

import json
from math import isfinite

from components.datasets.json_fields import Record, as_record
from components.errors import DataError
from components.records import Condition

Value = str | int | float


def read_conditions(record: Record, location: str) -> tuple[tuple[str, Condition], ...]:
    """Read the field `conditions`, which maps names of metadata to conditions; see `read_condition`.

    Return () for a record without the field. Raises DataError if the field has another form.
    """
    location = f"{location}, field 'conditions'"
    raw = {} if record.get("conditions") is None else as_record(record["conditions"], location)
    return tuple((name, read_condition(value, f"{location}, '{name}'")) for name, value in raw.items())


def read_condition(value: object, location: str) -> Condition:
    """Read a condition: a value, a list of values, or {"equals", "at_least", "at_most"}.

    Raises DataError for other objects, and for values that are not strings, numbers or booleans.
    """
    fields = as_record(value, location) if isinstance(value, dict) else {"equals": value}
    equals = [] if fields.get("equals") is None else fields["equals"]
    bounds = {name: _value(fields[name], location) for name in ("at_least", "at_most") if fields.get(name) is not None}
    values = [_value(item, location) for item in (equals if isinstance(equals, list | tuple) else [equals])]
    if not (values or bounds) or not set(fields) <= {"equals", "at_least", "at_most"}:
        raise _bad_condition(value, location)
    return Condition(tuple(values), bounds.get("at_least"), bounds.get("at_most"))


def _value(value: object, location: str) -> Value:
    if isinstance(value, bool):
        return str(value).lower()  # as in metadata
    is_finite = not isinstance(value, float) or isfinite(value)
    if not isinstance(value, str | int | float) or not is_finite:
        raise _bad_condition(value, location)
    return value


def _bad_condition(value: object, location: str) -> DataError:
    got = json.dumps(value, ensure_ascii=False, default=repr)
    return DataError(
        f"{location}: got {got}, expected a string or a number, a list of them, or an object with `equals`, "
        "`at_least` or `at_most`"
    )
