"""Files of traces: JSON over several lines, or JSON Lines."""

import json
from collections.abc import Iterator
from pathlib import Path

from components.datasets.data_files import read_bytes, read_jsonl, read_lines
from components.errors import DataError
from components.json_value import Json


def read_values(file: Path, expected: str) -> Iterator[tuple[str, Json]]:
    """Yield (where, value) for every line, or for every item of a file that is one JSON value.

    Raises DataError with the line of what is not JSON.
    """
    if _is_lines(file, expected):
        yield from ((f"{file}, line {line}", value) for line, value in read_jsonl(file, expected))
        return
    content = read_bytes(file, expected)
    try:
        whole = json.loads(content)
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {error.lineno}: is not JSON ({error.msg}), expected {expected}") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{file}, line {line}: is not UTF-8, expected {expected}") from error
    except (RecursionError, ValueError) as error:
        raise DataError(f"{file}: cannot be read ({error}), expected {expected}") from error
    items = whole if isinstance(whole, list) else [whole]
    yield from ((f"{file}, item {number}", item) for number, item in enumerate(items, 1))


def _is_lines(file: Path, expected: str) -> bool:
    """Return True if the first line that is not blank is a complete object."""
    for _, line in read_lines(file, expected):
        if line.strip():
            try:
                return isinstance(json.loads(line), dict)
            except (ValueError, RecursionError):
                return False
    raise DataError(f"{file}: is empty, expected {expected}")
