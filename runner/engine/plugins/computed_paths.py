"""Detection of paths that a module computes, so that no string constant in it names the file."""

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

_PLACES = re.compile(
    rb"\b(?:Path|PurePath|__file__|__path__|__spec__|__loader__|resources|dirname|getcwd|chdir|open|get_data"
    rb"|get(?:source|abs)?file|PackageLoader|FileSystemLoader)\b"
)
"""Names used to build paths. In a module that has none of them, slashes are arithmetic or URLs."""

_LISTING = frozenset(
    {
        "FileSystemLoader",
        "PackageLoader",
        "chdir",
        "fwalk",
        "glob",
        "iglob",
        "iterdir",
        "listdir",
        "rglob",
        "scandir",
        "walk",
    }
)
_CHANGING = frozenset({"with_stem", "with_suffix"})
_NAMING = frozenset({"Path", "PurePath", "get_data", "joinpath", "open", "with_name"})
"""Calls that take the name of a file."""
_OF_OBJECTS = frozenset({"getabsfile", "getfile", "getsourcefile"})
"""Functions of inspect that return the file of a module or class."""
_SAME_PATH = frozenset(
    {"Path", "PurePath", "abspath", "absolute", "expanduser", "fspath", "normpath", "realpath", "resolve", "str"}
)
"""Calls whose result names the same file as their argument."""
_FOLDER = frozenset({"dirname", "parent", "parents"})
_JOINING = frozenset({"join", "joinpath", "with_name"})
_PLAIN_CALLS = _SAME_PATH | _FOLDER | _JOINING | {"files", "mkstemp", "gettempdir"}
_OF_PACKAGES = frozenset({"open_binary", "open_text", "read_binary", "read_text"})
"""Functions of importlib.resources. Methods of a path with these names take at most an encoding."""


def builds_paths(text: bytes) -> bool:
    """Return True for a module that assigns a folder to a name, such as `HERE = Path(__file__).parent`, for others to
    import.
    """
    return bool(_PLACES.search(text))


@lru_cache(4096)
def computes_paths(text: bytes) -> bool:
    """Return True for a module that may compute the paths that it opens, list a folder, or receive paths as arguments.

    False positives are possible. Text that is not Python computes nothing.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    plain = _plain_names(tree)
    return any(_is_computed(node, plain) for node in ast.walk(tree)) or _changes_own_file(tree)


def _plain_names(tree: ast.AST) -> frozenset[str]:
    """Return the names that the module binds only to plain paths: `PROMPT = Path(__file__).parent / "prompt.txt"`."""
    values: dict[str, list[ast.expr]] = {}
    n_bound = Counter(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            n_bound[node.id] += 1
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                values.setdefault(_name(target), []).append(node.value)
    return frozenset(
        name
        for name, assigned in values.items()
        if len(assigned) == n_bound[name] and all(_is_plain(each) for each in assigned)
    )


def _is_computed(node: ast.AST, plain: frozenset[str]) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return not isinstance(node.right, ast.Constant)
    if isinstance(node, ast.BinOp):
        is_sum = isinstance(node.op, ast.Add | ast.Mod)
        return is_sum and (_is_path_part(node.left) or (_is_path_part(node.right) and not _has_slash(node.right)))
    if isinstance(node, ast.JoinedStr):
        return _computes_end(node.values)
    if isinstance(node, ast.Call):
        return _is_computing_call(node, plain)
    return _name(node) in _LISTING | _CHANGING | _OF_OBJECTS


def _computes_end(pieces: Sequence[ast.expr]) -> bool:
    """Return True for an f-string with a value behind a slash. A constant end names the file or ends a URL."""
    values = [place for place, piece in enumerate(pieces) if isinstance(piece, ast.FormattedValue)]
    return any(map(_has_slash, pieces[: values[-1] if values else 0]))


def _is_computing_call(call: ast.Call, plain: frozenset[str]) -> bool:
    name, function = _name(call.func), call.func
    if name == "join" and isinstance(function, ast.Attribute) and _name(function.value) not in ("path", "posixpath"):
        return _has_slash(function.value)
    if name == "join":
        return not _ends_in_constants(call)
    if name == "format":
        return isinstance(function, ast.Attribute) and _has_slash(function.value)
    if name in _OF_PACKAGES:
        return len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)
    if name not in _NAMING or not call.args:
        return False
    if name in ("Path", "PurePath", "open") and (name == "open" or len(call.args) == 1):
        return not _is_plain(call.args[0], plain)
    return not _ends_in_constants(call)


def _ends_in_constants(call: ast.Call) -> bool:
    """Return True if all arguments, except a folder or a package as the first, are constants."""
    has_folder = len(call.args) > 1 and _name(call.func) in ("Path", "PurePath", "get_data", "join")
    rest = call.args[1:] if has_folder else call.args
    return bool(rest) and all(isinstance(each, ast.Constant) for each in rest)


def _is_plain(node: ast.expr, plain: frozenset[str] = frozenset()) -> bool:
    """Return True for a constant, for `__file__`, and for an expression that is checked separately."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div)
    if isinstance(node, ast.Call):
        return _name(node.func) in _PLAIN_CALLS
    is_plain_name = isinstance(node, ast.Name) and node.id in plain
    return isinstance(node, ast.Constant) or is_plain_name or _name(node) == "__file__"


def _changes_own_file(tree: ast.AST) -> bool:
    """Return True if the path of a module is used in another way than to find its folder: as a string that is cut,
    joined or replaced, or under another name. No constant then needs to contain the name of the file that is opened.
    """
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    file_names = [node for node in parents if _name(node) == "__file__"]
    return any(not _finds_folder(node, parents) for node in file_names)


def _finds_folder(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return True if the outer expressions take the folder of a path, or join a constant to it, before any other
    operation.
    """
    while True:
        outer = parents[node]
        name = _name(outer.func) if isinstance(outer, ast.Call) else _name(outer)
        if name in _FOLDER | _JOINING:
            return True
        if name not in _SAME_PATH:
            return False
        node = outer


def _is_path_part(node: ast.AST) -> bool:
    """Return True for a part of a path, in a sum of strings."""
    is_path = isinstance(node, ast.Call) and _name(node.func) in _SAME_PATH | _FOLDER
    return is_path or _has_slash(node) or _name(node) in ("altsep", "sep")


def _has_slash(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "/" in node.value


def _name(node: ast.AST) -> str:
    """Return the last part of a name. "" for other nodes."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
