r"""Reads data files. Errors name the file and line.

The argument `expected` of most functions describes the expected file or folder, and errors quote it. All errors are
DataError. Lines end at "\n" only. U+2028 and similar characters belong to the text, unlike in str.splitlines.
"""

import codecs
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path

from components.errors import DataError

BYTE_ORDER_MARK = "\ufeff"

_N_NAMES_SHOWN = 8
_N_BYTES_TESTED = 1 << 16
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
MAX_LINE_BYTES = 1 << 28
"""Maximum bytes of a line. A longer line is not text, and would fill the memory."""
MAX_WHOLE_FILE_BYTES = 1 << 30
"""Maximum bytes of a file that is parsed as a whole, which takes several times its size in memory."""
_REMEDY = "Correct or remove the line."
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def check_path(path: Path, is_kind: Callable[[Path], bool], expected: str) -> bool:
    """Return `is_kind(path)`. Raises DataError if access is denied, for example to a folder of another user."""
    try:
        return is_kind(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}), expected {expected}") from error


def require_folder(folder: Path, expected: str) -> Path:
    """Return `folder`. If it does not exist, raise DataError with the content of the nearest existing folder."""
    if not check_path(folder, Path.is_dir, expected):
        raise DataError(f"{folder}: does not exist, expected {expected}. {_nearest_content(folder)}")
    return folder


def require_file(file: Path, expected: str) -> Path:
    """Return `file`. If it does not exist, raise DataError with the content of the nearest existing folder."""
    if not check_path(file, Path.is_file, expected):
        raise DataError(f"{file}: does not exist, expected {expected}. {_nearest_content(file)}")
    return file


_SYSTEM_FILES = ("Thumbs.db", "desktop.ini", "__MACOSX")
HIDDEN_PREFIXES = (".", "~$")
"""Beginnings of the names of hidden files, and of those that Office keeps while a document is open."""


def visible_entries(folder: Path, expected: str) -> list[Path]:
    """Return the files and folders in `folder` that are not hidden, sorted. Raises DataError if it cannot be listed.

    Files that Windows, macOS and Office add to folders and archives count as hidden.
    """
    try:
        entries = sorted(require_folder(folder, expected).iterdir())
        return [
            entry for entry in entries if not entry.name.startswith(HIDDEN_PREFIXES) and entry.name not in _SYSTEM_FILES
        ]
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror}), expected {expected}") from error


def require_inside(file: Path, folders: Sequence[Path], expected: str) -> Path:
    """Return `file`. Raise DataError if a link leads it out of the first of `folders` that its path is in.

    A data set from another author could otherwise bring any file of this machine into prompts and results. `folders`
    themselves may be links. A file outside all of them was named by the user, and may be anywhere. In the cache
    of the Hugging Face hub, files of a snapshot are links to `blobs/` next to all snapshots.
    """
    path = os.path.normpath(file)
    folder = next((candidate for candidate in folders if Path(path).is_relative_to(os.path.normpath(candidate))), None)
    if folder is None or not check_path(file, Path.is_file, expected):  # links in a circle cannot be resolved
        return file
    target = file.resolve()
    if not any(target.is_relative_to(root) for root in allowed_folders(folder.resolve())):
        raise DataError(
            f"{file}: is a link to {target}, outside of {folder}, expected a file in this folder: {expected}. "
            "Copy the file into it, or set the configuration to the file's real path."
        )
    return file


def allowed_folders(folder: Path) -> Iterator[Path]:
    """Yield the folder, and the blobs of the snapshot of the hub that it is in."""
    yield folder
    yield from (parent.parent / "blobs" for parent in folder.parents if parent.name == "snapshots")


def abbreviate_names(names: Sequence[str]) -> str:
    """Return the first names, and the number of others."""
    more = f" and {len(names) - _N_NAMES_SHOWN} more" if len(names) > _N_NAMES_SHOWN else ""
    return ", ".join(names[:_N_NAMES_SHOWN]) + more


def optional_file(file: Path) -> Path | None:
    """Return `file`, or None if the name does not exist.

    A broken link or a folder of this name is returned, and fails when it is read: skipping it would change the data set
    silently.
    """
    return file if os.path.lexists(file) else None


def read_bytes(file: Path, expected: str) -> bytes:
    """Return the content of a file. Raises DataError for a pointer of Git LFS, and for a file that
    `require_whole_size` refuses.
    """
    require_whole_size(file, expected)
    with _open(file, expected) as stream:
        content = stream.read()
    _refuse_pointer(file, content, expected)
    return content


def require_whole_size(file: Path, expected: str) -> None:
    """Raise DataError for a missing file, and for a file of more than 1 GiB, which is too large to read as a whole."""
    n_bytes = require_file(file, expected).stat().st_size
    if n_bytes > MAX_WHOLE_FILE_BYTES:
        raise DataError(
            f"{file}: has {n_bytes:,} bytes, expected at most {MAX_WHOLE_FILE_BYTES:,}, as it is read into memory. "
            "Split it, or convert records and lines to JSON Lines."
        )


def read_lines(file: Path, expected: str) -> Iterator[tuple[int, str]]:
    r"""Yield (line number from 1, line without "\n" or "\r\n"), including blank lines; nothing for an empty file.

    A byte order mark at the beginning is dropped. Raises DataError with line and byte offset if the file is not UTF-8
    or contains a NUL byte, and for a line of more than 256 MiB.
    """
    offset = 0
    with _open(file, expected) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), start=1):
            if len(line) > MAX_LINE_BYTES:
                raise DataError(
                    f"{file}, line {number}: is longer than {MAX_LINE_BYTES:,} bytes, expected {expected}. "
                    "Correct or split it."
                )
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise invalid_utf8(file, offset + error.start, number, line[error.start]) from error
            if (index := line.find(b"\0")) >= 0:
                raise DataError(
                    f"{file}, line {number}: contains a NUL byte at byte offset {offset + index}, as UTF-16 and "
                    "binary files do, expected a UTF-8 text file. Convert the file, or remove the byte."
                )
            offset += len(line)
            if number == 1:
                _refuse_pointer(file, line, expected)
            text = text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
            yield number, text.removesuffix("\n").removesuffix("\r")


def read_jsonl(file: Path, expected: str) -> Iterator[tuple[int, object]]:
    """Yield (line number from 1, value) for every non-blank line.

    Raises DataError for a line that is not JSON, with its number and the byte offset in it.
    """
    for number, line in read_lines(file, expected):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except json.JSONDecodeError as error:
            n_bytes = len(line[: error.pos].encode())
            raise DataError(
                f"{file}, line {number}: is not JSON at byte {n_bytes} of the line ({error.msg}), "
                f"expected {expected}. {_format_advice(line) if number == 1 else _REMEDY}"
            ) from error
        except (RecursionError, ValueError) as error:
            raise DataError(f"{file}, line {number}: {describe_limit_error(error)}. {_REMEDY}") from error
        if half := describe_half_character(line, value):
            raise DataError(f"{file}, line {number}: {half}. {_REMEDY}")
        yield number, value


def _format_advice(line: str) -> str:
    """Return the advice for a first line that is not JSON: the file has another format, or the line is damaged."""
    if line.strip() in ("[", "{", "[{"):
        path = "." if line.strip() == "{" else ".[]"
        return f"The file is JSON over several lines. Write each record on one line (jq -c '{path}')."
    if line.lstrip()[0] in "[{":
        return _REMEDY
    return (
        "If the file has another format, such as a table, convert it to one JSON object per line (docs/own-data.md). "
        "Otherwise correct the line."
    )


class RepeatedKeyError(ValueError):
    """A JSON object has a key twice, so one of the values would be silently lost."""


def parse_json(text: str) -> object:
    """Return the value of a JSON text.

    Raises RepeatedKeyError for a key that an object has twice, and ValueError or RecursionError as `json.loads`.
    """
    return _DECODER.decode(text)


def parse_user_json(text: str) -> object:
    """Return the value of a JSON text that a user wrote.

    Raises ValueError, which says why the text cannot be read; for a text that is not JSON, it is a JSONDecodeError.
    """
    try:
        value = parse_json(text)
        half = describe_half_character(text, value)
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise ValueError(describe_limit_error(error)) from error
    if half:
        raise ValueError(half)
    return value


def _require_unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        repeated = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise RepeatedKeyError(f"an object has the key {repeated!r} more than once")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_require_unique_keys)


def describe_limit_error(error: RecursionError | ValueError) -> str:
    """Return a description of the error in JSON that is well-formed but cannot be read."""
    if isinstance(error, RepeatedKeyError):
        return str(error)
    if isinstance(error, RecursionError):
        return "lists or objects are nested too deeply to be read"
    return "a number has too many digits to be read"


def describe_half_character(text: str, value: object) -> str:
    r"""Return a description of an unpaired surrogate, such as the escape "\ud83d", in a JSON text, or ""."""
    if not _SURROGATE.search(text):  # most texts have no surrogates and need not be encoded
        return ""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        return f"{half} is half of a character (an unpaired surrogate), which UTF-8 cannot represent"
    return ""


def sha256_of_files(files: Mapping[str, Path], expected: str) -> str:
    """Return the SHA-256 (hex) of the names and contents of `files`, which maps names to files.

    It depends neither on the paths nor on the order of the mapping. Contents are streamed.
    """
    digest = hashlib.sha256()
    for name in sorted(files):
        with _open(files[name], expected) as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{name}\0{content}\n".encode())
    return digest.hexdigest()


def invalid_utf8(file: Path, offset: int, line: int, byte: int) -> DataError:
    """Return the error for a file that is not UTF-8 at a byte offset (from 0) in a line (from 1)."""
    return DataError(
        f"{file}: byte 0x{byte:02x} at byte offset {offset} (line {line}) is not UTF-8, expected a UTF-8 text file. "
        f"Convert the file{_conversion_hint(file)}, or fetch it again."
    )


def _conversion_hint(file: Path) -> str:
    """Return the command that converts the file from its probable encoding; "" for damaged UTF-8 and for other files
    than text.

    In GB18030, bytes above 127 come in pairs. In Windows-1252, such letters are rare and alone.
    """
    with file.open("rb") as stream:
        head = stream.read(_N_BYTES_TESTED)
    if b"\0" in head:
        return _hint("UTF-16") if head[:2] in _UTF16_MARKS else ""
    is_high = [byte > 0x7F for byte in head]
    if 2 * head.decode("utf-8", errors="replace").count("\ufffd") < sum(is_high):  # mostly valid
        return ""
    n_beside_another = sum(a and (b or c) for a, b, c in zip(is_high[1:-1], is_high, is_high[2:], strict=False))
    if 2 * n_beside_another <= sum(is_high):
        return _hint("WINDOWS-1252")
    try:
        codecs.getincrementaldecoder("gb18030")().decode(head)
    except UnicodeDecodeError:
        return ""
    return _hint("GB18030")


def _hint(encoding: str) -> str:
    return f" (it may be {encoding}: iconv -f {encoding} -t UTF-8 FILE > NEW)"


def _open(file: Path, expected: str) -> BufferedReader:
    require_file(file, expected)
    try:
        return file.open("rb")
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}), expected {expected}") from error


def _refuse_pointer(file: Path, content: bytes, expected: str) -> None:
    """Raise DataError if Git LFS has not fetched the file yet."""
    if content.startswith(_LFS_POINTER):
        raise DataError(f"{file}: is a Git LFS pointer, expected {expected}. Fetch its content with: git lfs pull")


def _nearest_content(path: Path) -> str:
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    if folder is None:
        return "No folder above it exists either."
    if not os.access(folder, os.R_OK):
        return f"The folder {folder} cannot be listed. Check the path."
    names = sorted(entry.name for entry in folder.iterdir())
    content = abbreviate_names(names) or "nothing"
    return f"The folder {folder} contains: {content}. Check the path, or fetch the missing files."
