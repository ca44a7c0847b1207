"""Record of the files that users' code opens, lists or imports while it runs, written by an audit hook.

The source of a module does not always show what it opens: `open(FORMAT % name)`, the folder of a template engine, an
entry point. The hook sees it. It does not see what other programs and compiled libraries open without Python.
"""

import os
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from types import FrameType
from urllib.parse import unquote

from components.identified_files import IDENTIFIED
from runner.engine.plugins.package_files import PackageFile
from runner.engine.plugins.source_imports import top_level

_LISTING = frozenset({"os.listdir", "os.scandir"})
_EVENTS = _LISTING | {"open", "sqlite3.connect"}
_SHOWING_SOURCE = frozenset({"traceback", "warnings"})
"""Modules of Python that open the source of any module to show a line of it."""
_LOADING = "runner.engine.plugins.plugin_loading"
_IMPORTING = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", _LOADING})

_LIBRARIES = tuple({os.path.realpath(folder) + os.sep for folder in (sys.prefix, sys.base_prefix)} - {os.sep})
_IGNORED_SUFFIXES = (".log", ".tmp", ".lock", ".pyc", "~")

_MAX_IDENTIFIED = 20_000
"""Maximum number of identified paths, because they are sent to workers. Beyond it, only folders are recorded."""

_MAX_UNCOVERED = 5_000
"""Maximum number of uncovered files of a package whose edits are noticed."""

LISTED = "/"
"""Suffix of the name of a folder that was listed."""
ANY_MODULE = ""
"""Reader of a file that a thread opened without users' code on its stack."""


class OpenedFiles:
    """Files that the code of some packages opened, in this process or in the one that sent it work."""

    def __init__(self) -> None:
        self.readers_by_file: dict[str, set[str]] = {}
        """Files that were opened and folders that were listed, by name. The values are the modules on the stack."""
        self.importers_by_module: dict[str, set[str]] = {}
        """Modules that were imported."""
        self.readers_by_uncovered_path: dict[str, set[str]] = {}
        """Paths of files near the packages that were read, but that no snapshot covers."""
        self.uncovered_paths_by_package: dict[str, set[str]] = {}
        """The same paths by the top-level package of their readers, at most `_MAX_UNCOVERED` each, and folders that
        were listed, with a slash at the end.
        """
        self.classes_by_identified_path: dict[str, set[str]] = {}
        """Paths of files near the packages that a component read to identify them; beyond the limit, folders with
        a slash at the end. The values are the classes, as in `my_package.data:MyData`.
        """
        self._identifying = ""
        self._roots: tuple[str, ...] = ()
        self._written_paths: set[str] = set()
        """Paths of files that were opened for writing, which are not inputs."""
        self._packages: Collection[str] = ()
        self._files: Mapping[str, PackageFile] = {}
        self._names: dict[str, list[str]] = {}
        self._kinds: dict[str, _Kind] = {}
        self._is_hooked = False

    def watch(self, packages: Collection[str], files: Mapping[str, PackageFile]) -> None:
        """Record from now on which of the files the code of top-level packages opens. Forgets other packages."""
        recorded = {top_level(name) for name in (*self.readers_by_file, *self.importers_by_module)}
        self.forget((recorded | self.uncovered_paths_by_package.keys()).difference(packages))
        self._packages, self._files, self._names, self._kinds = packages, files, {}, {}
        self._roots = _folders_around(packages, files)
        if packages and not self._is_hooked:
            self._is_hooked = True
            sys.addaudithook(self._handle_event)

    def forget(self, packages: Collection[str]) -> None:
        """Drop the records of packages, for example because they are imported again."""
        for names in (self.readers_by_file, self.importers_by_module):
            for name in [name for name in names if top_level(name) in packages]:
                del names[name]
        for package in packages:
            self.uncovered_paths_by_package.pop(package, None)

    @contextmanager
    def record_identified_files(self, cls: type) -> Iterator[None]:
        """Record the files that are opened meanwhile, in any thread, as identified by a class."""
        before, self._identifying = self._identifying, _name_class(cls)
        try:
            yield
        finally:
            self._identifying = before

    def add(
        self,
        read: Mapping[str, Collection[str]],
        imported: Mapping[str, Collection[str]],
        identified: Mapping[str, Collection[str]],
    ) -> None:
        """Add the record of the process that created the components which this process received."""
        records = (
            (self.readers_by_file, read),
            (self.importers_by_module, imported),
            (self.classes_by_identified_path, identified),
        )
        for recorded, others in records:
            for name, modules in others.items():
                recorded.setdefault(name, set()).update(modules)

    def assume_read(self, module: str) -> None:
        """Record that a module, which was imported before `watch`, read all data of its package."""
        for name, file in self._files.items():
            if file.is_data and top_level(name) == top_level(module):
                self.readers_by_file.setdefault(name, set()).add(module)

    def _handle_event(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _EVENTS and self._packages:
            self._note(event, arguments)
        elif event == IDENTIFIED and self._identifying:
            self._note_identified(os.path.realpath(str(arguments[0])))

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        path = arguments[0]
        if not isinstance(path, str | bytes | os.PathLike | None):
            return
        is_listing = event in _LISTING
        place = os.fsdecode(path or os.curdir)
        if event == "sqlite3.connect" and place.startswith("file:"):
            place = unquote(place.removeprefix("file:").partition("?")[0])
        real = os.path.realpath(place)
        if event == "open" and _may_write(arguments[2]) and self._is_near(real):
            self._written_paths.add(real)
        if event == "open" and _only_writes(arguments[2]):
            return
        names = self._find_names(real, is_listing=is_listing)
        if self._identifying and not is_listing:
            self._note_identified(real)
        elif not names:
            self._note_outside(real, is_listing=is_listing)
        modules, is_import = self._readers() if names else (set(), False)
        if modules and not (is_import and is_listing):  # an import lists folders to find a module
            for name in names:
                is_code = name in self._files and not self._files[name].is_data
                (self.importers_by_module if is_import and is_code else self.readers_by_file).setdefault(
                    name, set()
                ).update(modules)

    def _note_identified(self, real: str) -> None:
        """Record a file for the class, or only its folder if there are too many files."""
        is_one_more = real in self.classes_by_identified_path or len(self.classes_by_identified_path) < _MAX_IDENTIFIED
        key = real if is_one_more else f"{os.path.dirname(real)}{os.sep}"  # noqa: PTH120 - thousands of them
        if self._is_near(real):
            self.classes_by_identified_path.setdefault(key, set()).add(self._identifying)

    def _note_outside(self, real: str, *, is_listing: bool) -> None:
        """Record a file or a listed folder near the packages that no snapshot covers, and that no class identifies."""
        exists = os.path.isdir if is_listing else os.path.isfile
        if not self._is_near(real) or real in self._written_paths or not exists(real):
            return
        modules, is_import = self._readers(4)
        if not modules or is_import or modules == {ANY_MODULE} or self._is_identified(real):
            return
        if not is_listing:
            self.readers_by_uncovered_path.setdefault(real, set()).update(modules)
        for package in set(map(top_level, modules)):
            paths = self.uncovered_paths_by_package.setdefault(package, set())
            if len(paths) < _MAX_UNCOVERED:
                paths.add(f"{real}{LISTED}" if is_listing else real)

    def _is_identified(self, real: str) -> bool:
        """Return True if a class on the stack identified the file, or is a user's class that identifies what it reads.

        In a thread, the stack may lack the class. There, a function in its module suffices.
        """
        folder = f"{os.path.dirname(real)}{os.sep}"  # noqa: PTH120 - as above
        classes = self.classes_by_identified_path.get(real, set()) | self.classes_by_identified_path.get(folder, set())
        frame: FrameType | None = sys._getframe(4)
        modules = set[str]()
        while frame is not None and (kind := self._find_kind(frame)) is not _Kind.RUNNER:
            modules.add(_get_module(frame))
            if frame.f_code.co_varnames[:1] == ("self",):
                reader = type(frame.f_locals.get("self"))
                if _name_class(reader) in classes or (kind is _Kind.USERS and self._identifies_its_files(reader)):
                    return True
            frame = frame.f_back
        return frame is None and not modules.isdisjoint(name.partition(":")[0] for name in classes)

    def _identifies_its_files(self, reader: type) -> bool:
        own = (cls for cls in reader.__mro__ if self._kind(cls.__module__) is _Kind.USERS)
        return any(name in vars(cls) for cls in own for name in ("content_hash", "fingerprint"))

    def _find_kind(self, frame: FrameType) -> "_Kind | None":
        return self._kinds.get(_get_module(frame))

    def _find_names(self, real: str, *, is_listing: bool) -> Sequence[str]:
        """Return the names of a file or a folder in the snapshots, one per link to it. A path that no snapshot lists
        gets its name from its folder, if the folder has one.
        """
        if not self._names:
            self._names = _names_by_path(self._files)
        if real in self._names:
            return self._names[real]
        folder, last = os.path.split(real)
        suffix = LISTED if is_listing else ""
        return [f"{name}{last}{suffix}" for name in self._names.get(folder, ()) if name.endswith(LISTED)]

    def _is_near(self, real: str) -> bool:
        """Return True for a file of the user's project that is neither a library's, nor hidden, nor a log."""
        root = next((root for root in self._roots if real.startswith(root)), None)
        if root is None or real.startswith(_LIBRARIES) or real.endswith(_IGNORED_SUFFIXES):
            return False
        return f"{os.sep}." not in real[len(root) - 1 :]

    def _readers(self, n_frames: int = 3) -> tuple[set[str], bool]:
        """Return the users' modules on the stack beyond its `n_frames` innermost, and whether an import opens the file.

        A stack without such modules counts as `ANY_MODULE` outside the main thread: an executor may call `open` itself.
        """
        modules, is_import = set[str](), False
        frame: FrameType | None = sys._getframe(n_frames)
        while frame is not None:
            name = _get_module(frame)
            if name not in self._kinds:
                self._kinds[name] = self._kind(name)
            kind = self._kinds[name]
            if kind is _Kind.RUNNER:
                return modules, is_import
            if kind is _Kind.SHOWING_SOURCE:
                return set(), False
            if kind is _Kind.USERS:
                modules.add(name)
            is_import = is_import or (not modules and kind is _Kind.IMPORTING)
            frame = frame.f_back
        is_thread = threading.get_ident() != threading.main_thread().ident
        return modules or ({ANY_MODULE} if is_thread else set()), is_import

    def _kind(self, module: str) -> "_Kind":
        if module in _IMPORTING:
            return _Kind.IMPORTING
        if module in _SHOWING_SOURCE:
            return _Kind.SHOWING_SOURCE
        top = top_level(module)
        return _Kind.USERS if top in self._packages else _Kind.RUNNER if top == "runner" else _Kind.OTHER


class _Kind(Enum):
    USERS = auto()
    RUNNER = auto()
    IMPORTING = auto()
    SHOWING_SOURCE = auto()
    OTHER = auto()


def _names_by_path(files: Mapping[str, PackageFile]) -> dict[str, list[str]]:
    """Return the names of all files and folders by their real path."""
    names: dict[str, list[str]] = {}
    seen = set[str]()
    for name, file in files.items():
        names.setdefault(os.path.realpath(file.path), []).append(name)
        folder, named = os.path.dirname(file.path), find_folder(name, file)  # noqa: PTH120 - thousands of them
        while named and named not in seen:
            seen.add(named)
            names.setdefault(os.path.realpath(folder), []).append(f"{named}{LISTED}")
            folder, named = os.path.dirname(folder), named.rpartition("/")[0]  # noqa: PTH120
    return names


def _folders_around(packages: Collection[str], files: Mapping[str, PackageFile]) -> tuple[str, ...]:
    """Return the working directory and the folders that contain the packages, each with a slash at the end."""
    tops = {os.path.realpath(files[name].path) for name in packages if name in files}
    above = {os.path.dirname(os.path.dirname(path) if path.endswith("__init__.py") else path) for path in tops}  # noqa: PTH120
    return tuple(sorted(f"{folder.rstrip(os.sep)}{os.sep}" for folder in above | {os.path.realpath(os.curdir)}))


def _get_module(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name if isinstance(name, str) else ""


def _name_class(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _may_write(flags: object) -> bool:
    return isinstance(flags, int) and flags & os.O_ACCMODE != os.O_RDONLY


def _only_writes(flags: object) -> bool:
    return isinstance(flags, int) and flags & os.O_ACCMODE == os.O_WRONLY


def find_folder(name: str, file: PackageFile) -> str:
    """Return the folder of a file of a snapshot, as in `my_package/prompts`. "" for a single file."""
    place = name if "/" in name else name.replace(".", "/")
    return place if file.is_package else place.rpartition("/")[0]
