"""Which modules a source file may import, read from its text."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_DYNAMIC = frozenset(
    {
        "__import__",
        "eval",
        "exec",
        "exec_module",
        "import_module",
        "load_module",
        "modules",  # as in sys.modules
        "pkgutil",
        "reload",
        "runpy",
        "spec_from_file_location",
    }
)
"""Names whose use means that a file may import any module of its package."""

_MENTIONED = re.compile(rb"\b(?:from|import)\s+([\w., \t]+)")


@dataclass(frozen=True)
class Imports:
    """Dotted names that a module may import, absolute; names in them need not be modules. `of_packages` are packages of
    which any direct submodule may be imported (`from package import *`). `is_dynamic`: it may import anything.
    `does_nothing`: the file has no statement but a docstring.
    """

    names: frozenset[str] = frozenset()
    of_packages: frozenset[str] = frozenset()
    is_dynamic: bool = False
    does_nothing: bool = False


EMPTY = Imports(does_nothing=True)
"""Those of a file that does nothing."""


def mentioned_packages(text: bytes) -> set[str]:
    """Top-level names behind `import` and `from` anywhere in a text: all that it imports by name, and some that it does
    not.
    """
    found = set()
    for match in _MENTIONED.finditer(text):
        for each in match[1].decode().split(","):
            words = each.split()
            if words and (top := words[0].partition(".")[0]).isidentifier():
                found.add(top)
    return found


def imports_of(text: bytes, module: str, *, is_package: bool) -> Imports:
    """The imports of a module, those inside functions included. A text that is not Python counts as dynamic."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Imports(is_dynamic=True)
    names, starred, is_dynamic = set[str](), set[str](), False
    for node in ast.walk(tree):
        is_dynamic = is_dynamic or not _DYNAMIC.isdisjoint(_identifiers(node))
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _base_of(node, module, is_package=is_package)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
            starred |= {base for alias in node.names if alias.name == "*"}
    return Imports(frozenset(names), frozenset(starred), is_dynamic, _does_nothing(tree))


def _identifiers(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        yield from node.name.split(".")


def _base_of(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """The absolute name of the package or module that `from ... import` names."""
    if not node.level:
        return node.module or ""
    n_dropped = node.level - is_package
    parents = module.split(".")
    parents = parents[: len(parents) - n_dropped] if n_dropped else parents
    return ".".join([*parents, *([node.module] if node.module else [])])


def _does_nothing(tree: ast.Module) -> bool:
    return all(
        isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in tree.body
    )
