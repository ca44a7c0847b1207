"""JSON files whose end may be missing: their complete records, and how many there are.

A missing end, as after an interrupted download, can be accepted on request. A file that is damaged in the middle is
always an error.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from components.datasets.data_files import (
    BYTE_ORDER_MARK,
    describe_half_character,
    describe_limit_error,
    invalid_utf8,
    parse_json,
    read_bytes,
)
from components.errors import DataError

_BLANK = re.compile(r"[ \t\n\r]*")
_UNFINISHED = re.compile(r"(t(ru?)?|f(a(ls?)?)?|n(ul?)?|-|\.|[eE][-+]?|\\?u?[0-9a-fA-F]{0,4})?\s*")
"""Beginnings of true, false, null, numbers and escape sequences, after which a file may be cut off."""

_DECODER = json.JSONDecoder()


class JsonFile(NamedTuple):
    """The value of a JSON file. If the file is `is_truncated`, the value contains only the complete records."""

    value: object
    is_truncated: bool


def read_json(file: Path, expected: str, accept_truncated: bool | None = None) -> JsonFile:
    """Read a JSON file: a list of records, an object of such lists, or any other value.

    Raises DataError if it is not UTF-8 or not JSON, or if its end is missing. That error names the byte offsets of the
    end and of the incomplete record, and the number of complete records. With `accept_truncated`, return the complete
    records instead. Pass None if the user cannot choose: the error then does not suggest it.
    """
    content = read_bytes(file, expected)
    content = content.removeprefix(BYTE_ORDER_MARK.encode())
    text, is_truncated = _decode(file, content)
    try:
        value = parse_json(text)
        if half := describe_half_character(text, value):
            raise DataError(f"{file}: {half}, expected {expected}. Correct the file.")
        return JsonFile(value, is_truncated=False)
    except json.JSONDecodeError as error:
        complete = _read_complete_records(text)
        if not (is_truncated or _is_cut(text, error)):
            raise _malformed_error(file, text, error, complete, expected) from error
        if not accept_truncated:
            remedy = _TAKE_COMPLETE if accept_truncated is False else ""
            raise _cut_error(file, content, text, complete, f"{expected}. Fetch the file again{remedy}.") from error
        return JsonFile(complete.value, is_truncated=True)
    except (RecursionError, ValueError) as error:
        raise DataError(f"{file}: {describe_limit_error(error)}, expected {expected}. Correct the file.") from error


class _CompleteRecords(NamedTuple):
    value: object
    n_records: int
    end: int
    """Position in characters at which the first incomplete record begins."""


def _decode(file: Path, content: bytes) -> tuple[str, bool]:
    """Return the text, and True if the bytes of its last character are incomplete."""
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return content[: error.start].decode("utf-8"), True
        line = content.count(b"\n", 0, error.start) + 1
        raise invalid_utf8(file, error.start, line, content[error.start]) from error


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Return True if the error is at the end of the text, so that more text could complete it."""
    if error.msg.startswith("Extra data"):
        return False
    return error.msg.startswith("Unterminated string") or _UNFINISHED.fullmatch(text, error.pos) is not None


def _read_complete_records(text: str) -> _CompleteRecords:
    """Return the records before the first incomplete one, of a list or of an object that holds lists."""
    start = _skip_blanks(text, 0)
    if text[start : start + 1] == "{":
        return _read_lists(text, start)
    records, end, _ = _read_list(text, start)
    return _CompleteRecords(records, len(records), end)


def _read_lists(text: str, position: int) -> _CompleteRecords:
    values: dict[str, object] = {}
    n_records = 0
    closed = True
    while closed and text[position : position + 1] in ("{", ","):
        try:
            name, position = _DECODER.raw_decode(text, _skip_blanks(text, position + 1))
        except json.JSONDecodeError:
            break
        position = _skip_blanks(text, position)
        if text[position : position + 1] != ":":
            break
        position = _skip_blanks(text, position + 1)
        if text[position : position + 1] == "[":
            values[str(name)], position, closed = records, _, _ = _read_list(text, position)
            n_records += len(records)
        else:
            try:
                values[str(name)], end = _DECODER.raw_decode(text, position)
            except json.JSONDecodeError:
                break
            position = _skip_blanks(text, end)
    return _CompleteRecords(values, n_records, position)


def _read_list(text: str, position: int) -> tuple[list[object], int, bool]:
    """Return the complete elements of the list at `position`, the position after them, and True for a closed list."""
    records: list[object] = []
    if text[position : position + 1] != "[":
        return records, position, False
    position = _skip_blanks(text, position + 1)
    while text[position : position + 1] not in ("]", ""):
        try:
            record, end = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError:
            return records, position, False
        records.append(record)
        position = _skip_blanks(text, end)
        if text[position : position + 1] == ",":
            position = _skip_blanks(text, position + 1)
    closed = text[position : position + 1] == "]"
    return records, _skip_blanks(text, position + closed), closed


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _cut_error(file: Path, content: bytes, text: str, complete: _CompleteRecords, expected: str) -> DataError:
    begins = len(text[: complete.end].encode())
    return DataError(
        f"{file}: the JSON is cut off at byte offset {len(content)}, where the file ends, in a part that begins "
        f"at byte offset {begins}; the {complete.n_records} records before it are complete, expected {expected}"
    )


_TAKE_COMPLETE = ", or set dataset.accept_truncated=true to use only the complete records"


def _malformed_error(
    file: Path, text: str, error: json.JSONDecodeError, complete: _CompleteRecords, expected: str
) -> DataError:
    offset = len(text[: error.pos].encode())
    return DataError(
        f"{file}: is not JSON at byte offset {offset} (line {error.lineno}): {error.msg}; {complete.n_records} "
        f"records before it are complete, expected {expected}. Correct the file, or fetch it again."
    )
