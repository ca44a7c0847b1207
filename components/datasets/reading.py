r"""Reads the files of a data set, and says where they are wrong.

Every function takes `expected`, a few words on what the file or folder should hold, which errors repeat. All errors are
DataError. Lines end at "\n" only: U+2028 and the like are characters of a text, although str.splitlines disagrees.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path

from components.errors import DataError

BYTE_ORDER_MARK = "\ufeff"

_N_NAMES_SHOWN = 8
LONGEST_LINE = 1 << 28
"""Bytes: a longer line is no text, and would fill the memory."""
LARGEST_WHOLE_FILE = 1 << 30
"""Bytes of a file that is parsed as a whole, which takes several times its size in memory."""
_MEND = "Mend or remove the line."
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def is_there(path: Path, is_kind: Callable[[Path], bool], expected: str) -> bool:
    """Return `is_kind(path)`. Raises DataError where the system refuses to look, as into a folder of another user."""
    try:
        return is_kind(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Expected here: {expected}.") from error


def require_folder(folder: Path, expected: str) -> Path:
    """`folder` itself. Raises DataError, naming what the nearest existing folder holds, if there is no such folder."""
    if not is_there(folder, Path.is_dir, expected):
        raise DataError(f"{folder}: no such folder. Expected here: {expected}. {_what_is_there(folder)}")
    return folder


def require_file(file: Path, expected: str) -> Path:
    """`file` itself. Raises DataError, naming what the nearest existing folder holds, if there is no such file."""
    if not is_there(file, Path.is_file, expected):
        raise DataError(f"{file}: no such file. Expected here: {expected}. {_what_is_there(file)}")
    return file


def optional_file(file: Path) -> Path | None:
    """`file`, or None if nothing has this name. A link that leads nowhere, or a folder of this name, is an error only
    where it is read: to pass over it would change the data set in silence.
    """
    return file if os.path.lexists(file) else None


def read_bytes(file: Path, expected: str) -> bytes:
    """The whole content of a file. Raises DataError for one that `require_whole_size` refuses."""
    require_whole_size(file, expected)
    with _opened(file, expected) as stream:
        return stream.read()


def require_whole_size(file: Path, expected: str) -> None:
    """Raises DataError for a missing file, and for one of more than 1 GiB, which cannot be read as a whole."""
    n_bytes = require_file(file, expected).stat().st_size
    if n_bytes > LARGEST_WHOLE_FILE:
        raise DataError(
            f"{file}: has {n_bytes:,} bytes; expected at most {LARGEST_WHOLE_FILE:,}, as the file is read as a whole. "
            "Split it, or convert records and lines to JSON Lines."
        )


def read_lines(file: Path, expected: str) -> Iterator[tuple[int, str]]:
    r"""Yields (line number from 1, line without "\n" or "\r\n"), including blank lines; nothing for an empty file. A
    leading byte order mark is dropped.

    Raises DataError with the line and the byte offset where the file is not UTF-8 or holds a NUL byte, and for a line
    beyond 256 MiB.
    """
    offset = 0
    with _opened(file, expected) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                raise DataError(
                    f"{file}, line {number}: is longer than {LONGEST_LINE:,} bytes. Expected: {expected}. "
                    "Mend or split it."
                )
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise invalid_utf8(file, offset + error.start, number, line[error.start]) from error
            if (place := line.find(b"\0")) >= 0:
                raise DataError(
                    f"{file}, line {number}: holds a NUL byte at byte offset {offset + place}, as UTF-16 and binary "
                    "files do. Expected: a UTF-8 text file. Convert the file, or remove the byte."
                )
            offset += len(line)
            text = text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
            yield number, text.removesuffix("\n").removesuffix("\r")


def read_jsonl(file: Path, expected: str) -> Iterator[tuple[int, object]]:
    """Yields (line number from 1, value) for every non-blank line.

    Raises DataError with the line and the byte offset in it for a line that is not JSON.
    """
    for number, line in read_lines(file, expected):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except json.JSONDecodeError as error:
            n_bytes = len(line[: error.pos].encode())
            raise DataError(
                f"{file}, line {number}: not JSON at byte {n_bytes} of the line ({error.msg}). "
                f"Expected: {expected}. {_other_format(line) if number == 1 else _MEND}"
            ) from error
        except (RecursionError, ValueError) as error:
            raise DataError(f"{file}, line {number}: {beyond_limits(error)}. Mend or remove the line.") from error
        if half := half_character(line, value):
            raise DataError(f"{file}, line {number}: {half}. Mend or remove the line.")
        yield number, value


def _other_format(line: str) -> str:
    """What to do about a first line that is no JSON: of a whole file in another format, or of a damaged line."""
    if line.strip() in ("[", "{", "[{"):
        path = "." if line.strip() == "{" else ".[]"
        return f"The file holds JSON over several lines: write each record on a line of its own (jq -c '{path}')."
    if line.lstrip()[0] in "[{":
        return _MEND
    return "If the file is a table or has another format, convert it, one JSON object per line. Else mend the line."


class RepeatedKeyError(ValueError):
    """An object names a key twice: whichever value wins, the other one would be lost in silence."""


def parse_json(text: str) -> object:
    """The value of a JSON text. Raises RepeatedKeyError, and what `json.loads` raises."""
    return _DECODER.decode(text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise RepeatedKeyError(f"an object has the key {repeated!r} more than once")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def beyond_limits(error: RecursionError | ValueError) -> str:
    """What is wrong with JSON that is well-formed but cannot be read."""
    if isinstance(error, RepeatedKeyError):
        return str(error)
    if isinstance(error, RecursionError):
        return "lists or objects lie too deep in one another to be read"
    return "a number has too many digits to be read"


def half_character(text: str, value: object) -> str:
    r"""What is wrong with the value of a JSON text where an escape such as "\ud83d" stands alone; "" for any other."""
    if not _SURROGATE.search(text):  # few texts have one: the others need not be encoded once more
        return ""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        return f"{half} is half of a character (a lone surrogate), which no text can hold"
    return ""


def sha256_of_files(files: Mapping[str, Path], expected: str) -> str:
    """SHA-256 (hex) over the names and contents of `files`, which maps names that count (not paths) to files.

    Does not depend on the order of the mapping; contents are streamed.
    """
    digest = hashlib.sha256()
    for name in sorted(files):
        with _opened(files[name], expected) as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{name}\0{content}\n".encode())
    return digest.hexdigest()


def invalid_utf8(file: Path, offset: int, line: int, byte: int) -> DataError:
    """The error for a file that is not UTF-8 at a byte offset (from 0) in a line (from 1)."""
    return DataError(
        f"{file}: byte 0x{byte:02x} at byte offset {offset} (line {line}) is not UTF-8. Expected: a UTF-8 text file. "
        "Convert the file, or fetch it again."
    )


def _opened(file: Path, expected: str) -> BufferedReader:
    require_file(file, expected)
    try:
        return file.open("rb")
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}). Expected here: {expected}.") from error


def _what_is_there(path: Path) -> str:
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    if folder is None:
        return "No folder above it exists either."
    if not os.access(folder, os.R_OK):
        return f"The folder {folder} cannot be listed. Check the path."
    names = sorted(entry.name for entry in folder.iterdir())
    shown = ", ".join(names[:_N_NAMES_SHOWN]) or "nothing"
    more = f" and {len(names) - _N_NAMES_SHOWN} more" if len(names) > _N_NAMES_SHOWN else ""
    return f"The folder {folder} holds: {shown}{more}. Check the path, or fetch what is missing."
