"""Finds the imports of code by reading it: modules of the packages in a folder, and third-party packages."""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path


class Code:
    """The packages in a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own = {path.stem for path in root.iterdir()}

    def third_party_imports(self, modules: Iterable[str], *, when_called: bool) -> set[str]:
        """Return the third-party modules ("sklearn.preprocessing") that these modules import, directly or through other
        modules in the folder.

        With `when_called`, imports within functions count too.
        """
        waiting, seen, third_party = [*modules], set[str](), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or (file := self._file(name)) is None:
                continue
            seen.add(name)
            for imported in self._resolve_imports(file, when_called=when_called):
                top = imported.partition(".")[0]
                if top in self._own:
                    waiting += [imported, imported.rpartition(".")[0]]
                elif top not in sys.stdlib_module_names:
                    third_party.add(imported)
            waiting.append(name.rpartition(".")[0])  # importing a module imports its package first
        return third_party

    def _file(self, name: str) -> Path | None:
        path = self._root.joinpath(*name.split("."))
        files = (path / "__init__.py", path.with_suffix(".py"))
        return next((file for file in files if name and file.is_file()), None)

    def _resolve_imports(self, file: Path, *, when_called: bool) -> tuple[str, ...]:
        package = ".".join(file.relative_to(self._root).parent.parts)
        text = file.read_text(encoding="utf-8")
        return tuple(dict.fromkeys(_names(_parse(text), package, when_called=when_called)))


def _names(module: ast.Module, package: str, *, when_called: bool) -> Iterator[str]:
    """Yield names of imported modules, and of objects imported from them, which may be modules too.

    Imports only for type checking are left out. Modules that `find_spec` looks for are included.
    """
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if not when_called and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("find_spec"):
            yield from (
                word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)
            )
        waiting.extend(ast.iter_child_nodes(node))


@cache
def _parse(text: str) -> ast.Module:
    return ast.parse(text)
