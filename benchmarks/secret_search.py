"""Search for a secret in every byte that a command left: files, including compressed ones and databases, and its
output.

The encodings are written here again instead of using `components.secrets`. A search with the forms of the mask could
not find the forms that the mask forgets.
"""

import base64
import gzip
import html
import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, quote_plus

_WINDOW = 12
"""Length of a piece of the secret that counts as the secret."""

_MAX_DEPTH = 3


@dataclass(frozen=True)
class Leak:
    """The place of a secret, and its encoding."""

    place: str
    form: str


def leaks(folder: Path, output: str, secret: str) -> list[Leak]:
    """Return all places that show the secret or a piece of it: below `folder`, in names of files, and in `output`."""
    needles = list(_needles(secret))
    found = [Leak("the terminal", form) for form in _forms_in(output.encode("utf-8", "surrogateescape"), needles)]
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found += [Leak(f"the name of {name}", form) for form in _forms_in(name.encode(), needles)]
        if path.is_file() and not path.is_symlink():
            for part, content in _contents(name, path.read_bytes()):
                found += [Leak(part, form) for form in _forms_in(content, needles)]
    return found


def _forms_in(content: bytes, needles: list[tuple[str, bytes]]) -> list[str]:
    return [form for form, needle in needles if needle in content]


def _needles(secret: str) -> Iterator[tuple[str, bytes]]:
    """Yield (encoding, bytes) of the secret or, if it is long, of each of its pieces."""
    pieces = [secret[first : first + _WINDOW] for first in range(max(1, len(secret) - _WINDOW + 1))]
    for piece in pieces:
        plain = piece.encode()
        yield "plain", plain
        yield "UTF-16", piece.encode("utf-16-le")
        yield "hexadecimal", plain.hex().encode()
        for name, text in {
            "percent": quote(piece, safe=""),
            "percent but /": quote(piece),
            "plus": quote_plus(piece),
            "JSON": json.dumps(piece)[1:-1],
            "JSON in JSON": json.dumps(json.dumps(piece)[1:-1])[1:-1],
            "repr": repr(piece)[1:-1],
            "HTML": html.escape(piece),
        }.items():
            yield name, text.encode()
            yield f"{name}, small letters", text.lower().encode()
    for shift in range(3):
        shifted = base64.b64encode(b"x" * shift + secret.encode())
        whole = shifted[4 if shift else 0 : len(shifted) // 4 * 4 - 4]  # groups of the secret's own bytes
        for first in range(0, max(1, len(whole) - 16 + 1), 4):
            yield "base64", whole[first : first + 16]


def _contents(name: str, content: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of a file, and of its packed contents."""
    yield name, content
    if depth == _MAX_DEPTH:
        return
    for part, inner in _unpack(content):
        yield from _contents(f"{name}, {part}", inner, depth + 1)


def _unpack(content: bytes) -> Iterator[tuple[str, bytes]]:
    if content.startswith(b"PAR1"):
        yield "its table", _table(content)
    elif content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            for member in archive.namelist():
                yield member, archive.read(member)
    elif content.startswith(b"\x1f\x8b"):
        yield "unpacked", gzip.decompress(content)
    elif content.startswith(b"\xfd7zXZ"):
        yield "unpacked", lzma.decompress(content)
    elif content[:2] in (b"x\x9c", b"x\x01", b"x\xda"):
        yield "unpacked", zlib.decompressobj().decompress(content)


def _table(content: bytes) -> bytes:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(BytesIO(content)).read(use_threads=False)
    texts = [str(table.schema), str(table.schema.metadata)]
    for column in table.columns:
        texts += [value if isinstance(value, str) else json.dumps(value, default=str) for value in column.to_pylist()]
    return "\n".join(texts).encode("utf-8", "surrogateescape")
