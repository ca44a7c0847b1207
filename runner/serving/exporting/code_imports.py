"""What code imports, read from its text: modules of the packages in a folder, and packages of others."""

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

    def others(self, modules: Iterable[str], *, when_called: bool) -> set[str]:
        """Modules of others ("sklearn.preprocessing") that are imported by these and by what they import of the
        folder's own: when they are loaded, and with `when_called` when their functions are called too.
        """
        waiting, seen, found = [*modules], set[str](), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or (file := self._file(name)) is None:
                continue
            seen.add(name)
            for imported in self._imported(file, when_called=when_called):
                top = imported.partition(".")[0]
                if top in self._own:
                    waiting += [imported, imported.rpartition(".")[0]]
                elif top not in sys.stdlib_module_names:
                    found.add(imported)
            waiting.append(name.rpartition(".")[0])  # its package is loaded before it
        return found

    def _file(self, name: str) -> Path | None:
        path = self._root.joinpath(*name.split("."))
        files = (path / "__init__.py", path.with_suffix(".py"))
        return next((file for file in files if name and file.is_file()), None)

    def _imported(self, file: Path, *, when_called: bool) -> tuple[str, ...]:
        package = ".".join(file.relative_to(self._root).parent.parts)
        text = file.read_text(encoding="utf-8")
        return tuple(dict.fromkeys(_names(_parsed(text), package, when_called=when_called)))


def _names(module: ast.Module, package: str, *, when_called: bool) -> Iterator[str]:
    """Of modules, and of what is imported from them, which may be modules too; what is imported for types alone is
    left out, and what `find_spec` looks for is not.
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
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)
