"""Files that a module names in its string constants, such as the table in `Path(__file__).with_name("table.txt")`."""

import ast
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_MAX_NAME_CHARACTERS = 200
_QUOTE = re.compile(rb"[\"']")
_OUTSIDE = frozenset({"", ".", "..", "~"})
"""First parts of names that may leave the folder."""
_UNSTABLE = ("/dev/", "/proc/", "/sys/")


def named_files(text: bytes, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each constant of a module that names a file or a folder, with its absolute path.

    A name is relative to the module's `folder`, or to the working directory. Files in hidden folders are ignored, so
    that code can write there. Parts that the code joins (`a / "data" / "table.txt"`, `join(a, "data", "table.txt")`)
    count together. Text that is not Python names nothing.
    """
    places = {place: _entries(place) for place in (folder, Path.cwd())}
    if not _may_name(text, frozenset[str]().union(*places.values())):
        return
    for name in sorted(find_named_files(text)):
        first = name.partition("/")[0]
        for place, entries in places.items():
            may_exist = first in entries or first in _OUTSIDE or first.startswith("~")
            if (
                may_exist
                and (path := _find_existing(place, name))
                and not any(_is_hidden(path, each) for each in places)
            ):
                yield name, path


def _find_existing(place: Path, name: str) -> Path | None:
    try:
        path = Path(os.path.normpath(place / Path(name).expanduser()))
        exists = path.is_file() or path.is_dir()
    except (OSError, ValueError, RuntimeError):  # an invalid file name, or the home of an unknown user
        return None
    return path if exists and not str(path).startswith(_UNSTABLE) else None


def _is_hidden(path: Path, place: Path) -> bool:
    return path.is_relative_to(place) and any(part.startswith(".") for part in path.relative_to(place).parts)


def _entries(folder: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - a Path for each entry takes longer
    except OSError:
        return frozenset()


def _may_name(text: bytes, entries: frozenset[str]) -> bool:
    """Return False if no string of the module begins with the name of an entry. Parsing is then unnecessary."""
    first_parts = {piece.partition(b"/")[0] for piece in _QUOTE.split(text)}
    has_absolute = b"'/" in text or b'"/' in text
    return has_absolute or not first_parts.isdisjoint(map(os.fsencode, (_OUTSIDE - {""}) | entries))


@lru_cache(4096)
def find_named_files(text: bytes) -> frozenset[str]:
    """Return the constants of a module that may name a file or a folder, and those that it joins."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    names = set[str]()
    for node in ast.walk(tree):
        for parts in _joined_names(node):
            names.add("/".join(parts))
    return frozenset(
        name for name in names if name.strip("./~") and len(name) <= _MAX_NAME_CHARACTERS and "\0" not in name
    )


def _joined_names(node: ast.AST) -> Iterator[list[str]]:
    """Yield names in a node: a constant, constants at the end of a chain of `/`, or adjacent constant arguments."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield [node.value]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield _trailing_strings(_chain(node))
    elif isinstance(node, ast.Call):
        yield _trailing_strings(node.args)


def _chain(node: ast.expr) -> list[ast.expr]:
    operands = list[ast.expr]()
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        operands.insert(0, node.right)
        node = node.left
    return [node, *operands]


def _trailing_strings(nodes: list[ast.expr]) -> list[str]:
    parts = list[str]()
    for node in reversed(nodes):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            break
        parts.insert(0, node.value)
    return parts
