"""Modules that a source file may import, read from its text."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

_LIBRARY_IMPORTERS = frozenset(
    {
        "cloudpickle",
        "dictConfig",
        "dill",
        "get_class",  # Hydra has this name, get_method, get_object and instantiate
        "get_method",
        "get_object",
        "instantiate",
        "joblib",
        "pickle",
        "run_module",
    }
)
"""Library functions that import modules by names from data."""

_PROGRAMS = frozenset(
    {
        "create_subprocess_exec",
        "create_subprocess_shell",
        "popen",
        "posix_spawn",
        "posix_spawnp",
        "pty",
        "startfile",
        "subprocess",
        "subprocess_exec",
        "subprocess_shell",
        *(f"{kind}{how}" for kind in ("exec", "spawn") for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    }
)
"""Library functions that start programs, which may run another file of the package."""

_DYNAMIC = (
    _LIBRARY_IMPORTERS
    | _PROGRAMS
    | {
        "__import__",
        "exec_module",
        "import_module",
        "import_string",
        "load_module",
        "locate",  # pydoc has this name
        "pkgutil",
        "reload",
        "resolve_name",
        "run_path",
        "runpy",
        "spec_from_file_location",
    }
)
"""A file that uses one of these names may import any module of its package."""

_BUILTINS = frozenset({"eval", "exec"})
_QUALIFIED_DYNAMIC_NAMES = frozenset(
    {"builtins.eval", "builtins.exec", "hydra.utils.call", "importlib.reload", "os.system", "sys.modules"}
)
"""Names that have this effect only in these modules. Objects also have attributes such as `eval`, `call` or `modules`.
"""

_GAP = r"(?:[^\S\r\n]|\\\r?\n)"
_MENTIONED = re.compile(rf"\b(?:from|import){_GAP}+((?:[\w.,]|{_GAP})+)")
"""An import statement, which ends with its line: a comment that ends in "import" does not include the next line."""

_LOADED = re.compile(r"""\b(?:import_module|__import__)\s*\(\s*(?:name\s*=\s*)?f?["'](\w+)""")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_COMPUTED = re.compile(
    rb"\b(?:__import__|exec|exec_module|import_module|import_string|load_module|locate|resolve_name|run_path|"
    + "|".join(sorted(_LIBRARY_IMPORTERS)).encode()
    + rb")\b"
)
_MAX_NAME_CHARACTERS = 200


def top_level(module: str) -> str:
    """Return the top-level package of a module, or of a file that is listed under its path."""
    return module.partition(".")[0].partition("/")[0]


@dataclass(frozen=True)
class Imports:
    """Dotted names that a module may import, absolute. Not all of them need be modules.

    The module may import any direct submodule of the packages in `star_imported_packages` (`from package import *`).
    `is_dynamic` means that it may import anything. `does_nothing` means that it has no statement but a docstring.
    """

    names: frozenset[str] = frozenset()
    star_imported_packages: frozenset[str] = frozenset()
    is_dynamic: bool = False
    does_nothing: bool = False


@lru_cache(4096)
def mentioned_packages(text: bytes) -> frozenset[str]:
    """Return the top-level packages that a text imports by name, and perhaps more.

    These are the names after `import` and `from` anywhere in the text, and literal arguments of `import_module`.
    """
    decoded = text.decode("utf-8", "replace")
    packages = set(_LOADED.findall(decoded))
    for match in _MENTIONED.finditer(decoded):
        for each in match[1].replace("\\", " ").split(","):
            words = each.split()
            if words and (top := top_level(words[0])).isidentifier():
                packages.add(top)
    return frozenset(packages)


def may_import_by_name(text: bytes) -> bool:
    """Return True for a text with a call that imports a module by a name that may be computed."""
    return bool(_COMPUTED.search(text))


@lru_cache(4096)
def find_imports(text: bytes, module: str, *, is_package: bool) -> Imports:
    """Return the imports of a module, including those inside functions. Text that is not Python counts as dynamic."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Imports(is_dynamic=True)
    names, starred, is_dynamic = set[str](), set[str](), False
    bound: dict[str, str] = {}
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute | ast.alias):
            is_dynamic = is_dynamic or not _DYNAMIC.isdisjoint(_identifiers(node))
        if isinstance(node, ast.Name) and node.id in _BUILTINS:
            is_dynamic = True
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
            bound |= {
                alias.asname or top_level(alias.name): alias.name if alias.asname else top_level(alias.name)
                for alias in node.names
            }
        elif isinstance(node, ast.ImportFrom):
            base = _resolve_base(node, module, is_package=is_package)
            is_dynamic = is_dynamic or not _DYNAMIC.isdisjoint(base.split("."))
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
            starred |= {base for alias in node.names if alias.name == "*"}
            bound |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant):
            names |= _find_module_names(node.value)
        elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            names.add(str(node.values[0].value).partition(".")[0])
    names |= {
        dotted for node in nodes if isinstance(node, ast.Attribute) and (dotted := _through_attributes(node, bound))
    }
    is_dynamic = is_dynamic or not names.isdisjoint(_QUALIFIED_DYNAMIC_NAMES)
    return Imports(frozenset(names), frozenset(starred), is_dynamic, _does_nothing(tree))


def _find_module_names(value: object) -> set[str]:
    """Return the name if a string may name a module, as in `locate("my_package.words")`."""
    if not isinstance(value, str) or len(value) > _MAX_NAME_CHARACTERS:
        return set()
    return {value.replace(":", ".")} if _DOTTED.fullmatch(value.replace(":", ".")) or value.isidentifier() else set()


def _through_attributes(node: ast.AST, bound: Mapping[str, str]) -> str:
    """Return the dotted name of an attribute such as `package.module.NAME`; "" for other nodes.

    It may name a module that this file does not import: `import package` suffices if another file imports the module.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not parts or not isinstance(node, ast.Name) or node.id not in bound:
        return ""
    return ".".join([bound[node.id], *reversed(parts)])


def _identifiers(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        yield from node.name.split(".")


def _resolve_base(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """Return the absolute name of the package or module that `from ... import` names."""
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
