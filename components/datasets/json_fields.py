"""Fields of JSON records, with their types checked.

Every error is a DataError that names the record's `location`, such as "split.json, list 'event_summary', record 3".
"""

from collections.abc import Iterator, Mapping
from math import isinf, isnan
from pathlib import Path

from components.datasets.data_files import read_jsonl
from components.errors import DataError
from components.json_value import Json, name_kind

Record = Mapping[str, object]


def read_records(file: Path, expected: str) -> Iterator[tuple[str, Record]]:
    """Yield (location, record) for every non-blank line of a JSON Lines file."""
    for line, value in read_jsonl(file, expected):
        location = f"{file}, line {line}"
        yield location, as_record(value, location)


def as_record(value: object, location: str) -> Record:
    """Return `value` if it is an object. Otherwise raise DataError."""
    if not isinstance(value, dict):
        raise DataError(f"{location}: got a {name_kind(value)}, expected an object")
    return value


def as_list(value: object, location: str) -> list[object]:
    """Return `value` if it is a list. Otherwise raise DataError."""
    if not isinstance(value, list):
        raise DataError(f"{location}: got a {name_kind(value)}, expected a list")
    return value


def required_text(record: Record, key: str, location: str) -> str:
    """Return the string under `key`, which may be blank but not missing."""
    if key not in record:
        raise DataError(f"{location}: no field '{key}'. Its fields are: {', '.join(record) or 'none'}.")
    return optional_text(record, key, location)


def optional_text(record: Record, key: str, location: str) -> str:
    """Return the string under `key`; "" if it is missing or null."""
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{location}, field '{key}': got a {name_kind(value)}, expected a string")
    return value


def optional_number(record: Record, key: str, location: str) -> float | None:
    """Return the number under `key`; None if it is missing or null."""
    value = record.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise DataError(
            f"{location}, field '{key}': got a {name_kind(value)}, expected a number. Correct or remove it."
        )
    return value


def optional_texts(record: Record, key: str, location: str) -> tuple[str, ...]:
    """Return the non-blank strings under `key`, which may be a string or a list; () if it is missing or null."""
    value = record.get(key)
    entries = value if isinstance(value, list) else [] if value is None else [value]
    texts = []
    for entry in entries:
        if not isinstance(entry, str):
            raise DataError(
                f"{location}, field '{key}': got a {name_kind(entry)}, expected a string or a list of strings"
            )
        texts.append(entry)
    return tuple(text for text in texts if text.strip())


def optional_facts(record: Record, key: str, location: str) -> dict[str, str]:
    """Return the object under `key` as strings by name; {} if it is missing or null. Nulls and NaN, which pandas writes
    for missing values, are left out. As in front matter, booleans are "true" and "false", and lists are joined.
    """
    value = record.get(key)
    facts = as_record({} if value is None else value, f"{location}, field '{key}'")
    texts = {name: _fact(fact, f"{location}, field '{key}', '{name}'") for name, fact in facts.items()}
    return {name: text for name, text in texts.items() if text is not None}


def _fact(fact: Json, location: str) -> str | None:
    if isinstance(fact, list):
        parts = [_fact(part, location) for part in fact if not isinstance(part, list)]
        if len(parts) == len(fact):
            return ", ".join(part for part in parts if part is not None) or None
    if fact is None or _is_nan(fact):
        return None
    if isinstance(fact, bool):
        return str(fact).lower()
    if not isinstance(fact, str | int | float) or (isinstance(fact, float) and isinf(fact)):
        raise DataError(
            f"{location}: got a {name_kind(fact)}, expected a string, a number, a boolean or a list of them. Give each "
            "value of an object its own name, such as author_name."
        )
    return str(fact)


def required_id(record: Record, location: str, key: str = "id") -> str:
    """Return the string or whole number under `key` as a string. It must be neither missing nor blank."""
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool):  # to Python, true is a whole number
        return str(value)
    text = required_text(record, key, location)
    if not text.strip():
        raise DataError(
            f"{location}, field '{key}': is {'null' if value is None else 'blank'}, expected a string or a number"
        )
    return text


def required_texts(record: Record, key: str, location: str) -> tuple[str, ...]:
    """Return the references of an item like `optional_texts`. There must be at least one."""
    texts = optional_texts(record, key, location)
    if not texts:
        raise DataError(
            f"{location}: the item has no reference, because field '{key}' is missing or blank. Add one, or "
            "remove the item."
        )
    return texts


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and isnan(value)
