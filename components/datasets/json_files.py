"""Reads a JSON file that may have been cut off: how many records are complete and, on request, those records.

Only a cut at the end can be accepted, such as an interrupted download leaves. A file that is damaged in the middle is
always an error.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from components.datasets.reading import (
    BYTE_ORDER_MARK,
    beyond_limits,
    half_character,
    invalid_utf8,
    parse_json,
    read_bytes,
)
from components.errors import DataError

_BLANK = re.compile(r"[ \t\n\r]*")
_UNFINISHED = re.compile(r"(t(ru?)?|f(a(ls?)?)?|n(ul?)?|-|\.|[eE][-+]?|\\?u?[0-9a-fA-F]{0,4})?\s*")
"""What a cut can leave of true, false, null, a number or an escape sequence."""

_DECODER = json.JSONDecoder()


class JsonFile(NamedTuple):
    """The value of a JSON file, and whether the file was cut off (then the value holds only the complete records)."""

    value: object
    cut_off: bool


def read_json(file: Path, expected: str, accept_truncated: bool | None = None) -> JsonFile:
    """Reads a JSON file: a list of records, an object of such lists, or anything else.

    Raises DataError if it is not UTF-8 or not JSON, and if it was cut off: with the byte offsets of the cut and of the
    record it went through, and the number of complete records before it. With `accept_truncated` these are returned
    instead; None for a reader without such a setting, whose error does not name it.
    """
    content = read_bytes(file, expected)
    content = content.removeprefix(BYTE_ORDER_MARK.encode())
    text, cut_off = _decode(file, content)
    try:
        value = parse_json(text)
        if half := half_character(text, value):
            raise DataError(f"{file}: {half}. Expected: {expected}. Mend the file.")
        return JsonFile(value, cut_off=False)
    except json.JSONDecodeError as error:
        whole = _read_whole_records(text)
        if not (cut_off or _is_cut(text, error)):
            raise _malformed(file, text, error, whole, expected) from error
        if not accept_truncated:
            remedy = _TAKE_THE_WHOLE if accept_truncated is False else ""
            raise _cut(file, content, text, whole, f"{expected}. Fetch the file again{remedy}.") from error
        return JsonFile(whole.value, cut_off=True)
    except (RecursionError, ValueError) as error:
        raise DataError(f"{file}: {beyond_limits(error)}. Expected: {expected}. Mend the file.") from error


class _WholeRecords(NamedTuple):
    value: object
    n_records: int
    end: int
    """Where, in characters, the first incomplete record begins."""


def _decode(file: Path, content: bytes) -> tuple[str, bool]:
    """The text, and whether its last character was cut in two."""
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return content[: error.start].decode("utf-8"), True
        line = content.count(b"\n", 0, error.start) + 1
        raise invalid_utf8(file, error.start, line, content[error.start]) from error


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """True if the error is at the end of the text, so that more text could have completed it."""
    if error.msg.startswith("Extra data"):
        return False
    return error.msg.startswith("Unterminated string") or _UNFINISHED.fullmatch(text, error.pos) is not None


def _read_whole_records(text: str) -> _WholeRecords:
    """The records before the first incomplete one, of a list or of an object that holds lists."""
    start = _skip_blanks(text, 0)
    if text[start : start + 1] == "{":
        return _read_lists(text, start)
    records, end, _ = _read_list(text, start)
    return _WholeRecords(records, len(records), end)


def _read_lists(text: str, position: int) -> _WholeRecords:
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
    return _WholeRecords(values, n_records, position)


def _read_list(text: str, position: int) -> tuple[list[object], int, bool]:
    """The complete elements of the list at `position`, where they end, and whether the list is closed."""
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


def _cut(file: Path, content: bytes, text: str, whole: _WholeRecords, wanted: str) -> DataError:
    begins = len(text[: whole.end].encode())
    return DataError(
        f"{file}: the JSON is cut off at byte offset {len(content)}, where the file ends, inside what begins at byte "
        f"offset {begins}; the {whole.n_records} records before it are whole. Expected: {wanted}"
    )


_TAKE_THE_WHOLE = ", or set dataset.accept_truncated=true to use the whole records alone"


def _malformed(file: Path, text: str, error: json.JSONDecodeError, whole: _WholeRecords, expected: str) -> DataError:
    offset = len(text[: error.pos].encode())
    return DataError(
        f"{file}: not JSON at byte offset {offset} (line {error.lineno}): {error.msg}; "
        f"{whole.n_records} records before it are whole. Expected: {expected}. Mend the file, or fetch it again."
    )
