"""Record of the files that users' code opens, lists or imports while it runs, kept by an audit hook.

The source of a module does not always show what it opens: `open(FORMAT % name)`, the folder of a template engine, an
entry point. The hook sees it. It does not see what other programs and compiled libraries open without Python.
"""

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from types import FrameType

from runner.engine.plugins.files import SourceFile
from runner.engine.plugins.source_imports import top_level

_OPENING = frozenset({"open", "os.listdir", "os.scandir", "sqlite3.connect"})
_SHOWING_SOURCE = frozenset({"traceback", "warnings"})
"""Modules of Python that open the source of any module to show a line of it."""
_LOADING = "runner.engine.plugins.plugin_loading"
_IMPORTING = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", _LOADING})

LISTED = "/"
"""Suffix of the name of a folder that was listed."""


class OpenedFiles:
    """Files that the code of some packages opened, in this process or in the one that sent it work."""

    def __init__(self) -> None:
        self.read: dict[str, set[str]] = {}
        """Files that were opened and folders that were listed, by name. The values are the modules on the stack."""
        self.imported: dict[str, set[str]] = {}
        """Modules that were imported."""
        self._packages: Collection[str] = ()
        self._files: Mapping[str, SourceFile] = {}
        self._names: dict[str, str] = {}
        self._is_hooked = False

    def watch(self, packages: Collection[str], files: Mapping[str, SourceFile]) -> None:
        """Record from now on which of the files the code of top-level packages opens. Forgets other packages."""
        self.forget({top_level(name) for name in (*self.read, *self.imported)}.difference(packages))
        self._packages, self._files, self._names = packages, files, {}
        if packages and not self._is_hooked:
            self._is_hooked = True
            sys.addaudithook(self._note)

    def forget(self, packages: Collection[str]) -> None:
        """Drop the records of packages, for example because they are imported again."""
        for names in (self.read, self.imported):
            for name in [name for name in names if top_level(name) in packages]:
                del names[name]

    def add(self, read: Mapping[str, Collection[str]], imported: Mapping[str, Collection[str]]) -> None:
        """Add the record of another process, in which the components were created that this one received."""
        for own, others in ((self.read, read), (self.imported, imported)):
            for name, modules in others.items():
                own.setdefault(name, set()).update(modules)

    def assume_read(self, module: str) -> None:
        """Record that a module, which was imported before `watch`, read all data of its package."""
        for name, file in self._files.items():
            if file.is_data and top_level(name) == top_level(module):
                self.read.setdefault(name, set()).add(module)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _OPENING or not self._packages:
            return
        modules, is_import = set[str](), False
        for name in _stack():
            if name in _SHOWING_SOURCE:
                return
            is_import = is_import or (not modules and name in _IMPORTING)
            if top_level(name) in self._packages:
                modules.add(name)
        path = arguments[0]
        if modules and isinstance(path, str | bytes | os.PathLike | None):
            name = self._name_of(os.path.realpath(os.fsdecode(path or os.curdir)))
            is_code = name in self._files and not self._files[name].is_data
            if name and not (is_import and name.endswith(LISTED)):  # an import lists folders to find a module
                (self.imported if is_import and is_code else self.read).setdefault(name, set()).update(modules)

    def _name_of(self, real: str) -> str:
        """Return the name of a file or a folder in the snapshots. "" for others."""
        if not self._names:
            names = dict[str, str]()
            for name, file in self._files.items():
                names[os.path.realpath(file.path)] = name
                folder, named = os.path.dirname(file.path), folder_of(name, file)  # noqa: PTH120 - thousands of them
                while named and folder not in names:
                    names[os.path.realpath(folder)] = names[folder] = f"{named}{LISTED}"
                    folder, named = os.path.dirname(folder), named.rpartition("/")[0]  # noqa: PTH120
            self._names = names
        return self._names.get(real, "")


def folder_of(name: str, file: SourceFile) -> str:
    """Return the folder of a file of a snapshot, as in `my_package/prompts`. "" for a single file."""
    place = name if "/" in name else name.replace(".", "/")
    return place if file.is_package else place.rpartition("/")[0]


def _stack() -> Iterator[str]:
    """Yield the names of the modules on the stack, innermost first, up to the code that called the user's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if top_level(name) == "runner" and name != _LOADING:
            return
        yield name
        frame = frame.f_back
