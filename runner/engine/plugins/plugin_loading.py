"""Loading of users' packages: the code that runs is the code in the keys of its results.

A snapshot is taken before the first module of a package is imported. From then on, each module is compiled from exactly
the bytes in the snapshot. Python's bytecode cache is not used, because it relies on file times in seconds and sizes. A
changed file is refused, also in workers, which receive the snapshots of the command.
"""

import linecache
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from weakref import WeakKeyDictionary

from components.errors import ComponentError
from components.secrets.mask import mask_text
from runner.console.own_packages import add_working_directory
from runner.engine.plugins.opened_files import OpenedFiles
from runner.engine.plugins.package_files import SUFFIXES, PackageFile
from runner.engine.plugins.snapshot import OURS, Snapshot, is_user_package, take_snapshot
from runner.engine.plugins.source_imports import top_level

_STARTUP_S = 0.01
"""Minimum time between the start of a process and its first import."""

_MAX_CLOCK_DRIFT_S = 1.0
"""Largest drift of the clock. Beyond it, the clock was set and file times mean nothing."""


class _State:
    """Code that this process has loaded."""

    def __init__(self) -> None:
        self.snapshots: dict[str, Snapshot] = {}
        """Snapshots by the top-level package that a run named."""
        self.files: dict[str, PackageFile] = {}
        """Files of all snapshots, by module."""
        self.packages: frozenset[str] = frozenset()
        """Top-level packages that the snapshots cover."""
        self.imported: dict[str, str] = {}
        """Digests of the imported files of these packages, by module. Only imports through this module are included."""
        self.opened = OpenedFiles()
        self.by_class: WeakKeyDictionary[type, Snapshot] = WeakKeyDictionary()
        self.are_edits_refused = False
        self.reported: set[tuple[str, str]] = set()
        """Folders and modules in messages of `take_uncovered_reads`."""

    def set(self, snapshots: Mapping[str, Snapshot]) -> None:
        """Set the snapshots. If two cover the same package, the later one wins."""
        self.snapshots = dict(snapshots)
        self.files = {name: file for known in snapshots.values() for name, file in known.files.items()}
        self.packages = frozenset(name for known in snapshots.values() for name in known.packages)
        self.imported = {name: each for name, each in self.imported.items() if top_level(name) in self.packages}
        self.opened.watch(self.packages, self.files)

    def add(self, snapshots: Iterable[Snapshot]) -> None:
        new = {each.name: each for each in snapshots}
        self.set({**{name: known for name, known in self.snapshots.items() if name not in new}, **new})

    def drop(self, package: str) -> None:
        """Remove all snapshots that cover a top-level package."""
        self.set({name: known for name, known in self.snapshots.items() if package not in known.packages})


_state = _State()


def plugin_packages() -> frozenset[str]:
    """Return the top-level packages of users that are loaded, with those that they import."""
    return _state.packages


def load_plugins(packages: Iterable[str]) -> list[str]:
    """Take snapshots of packages as they are now, for a new run. Files that change later are refused until
    `allow_edits`.

    Drops the modules of packages that this process imported from other files, or may have. They are imported again when
    needed. Returns those top-level packages. Raises ComponentError if the file of the program is among them.
    """
    tops = _top_levels(packages)
    _state.are_edits_refused = True
    return _install_snapshots(_snapshots(tops, {}))


def ensure_loaded(packages: Iterable[str]) -> None:
    """Take snapshots as `load_plugins` does, but only of packages of which this process has no snapshot."""
    tops = _top_levels(packages)
    if any(top not in _state.snapshots for top in tops):
        read: dict[str, Mapping[str, PackageFile]] = {}
        for package in _state.packages:  # loaded packages stay unchanged
            read[package] = {name: file for name, file in _state.files.items() if top_level(name) == package}
        _install_snapshots(
            [each for each in _snapshots(tops, read) if each.name not in _state.snapshots], keep=_state.packages
        )


def _snapshots(tops: Sequence[str], read: dict[str, Mapping[str, PackageFile]]) -> list[Snapshot]:
    """Return snapshots of packages and of all user code that they import, because a class may come from any of it."""
    named = [take_snapshot(top, tops, read) for top in tops]
    others = {name for each in named for name in each.packages}.difference(tops)
    return [*named, *(take_snapshot(name, tops, read) for name in sorted(others))]


def _install_snapshots(snapshots: Sequence[Snapshot], keep: Collection[str] = ()) -> list[str]:
    """Install snapshots. Drops the modules of packages with newer files, and of all packages connected with them by
    imports.

    Packages in `keep` stay. Returns the dropped packages.
    """
    linecache.checkcache()  # a model that reads sources by linecache would get the text before an edit
    changed = [each for each in snapshots if not (_is_loaded_as(each) and _are_untouched(each))]
    covered = {name for each in changed for name in each.packages}
    files = {name: file for each in snapshots for name, file in each.files.items()}
    stale = {name for name in covered if _is_imported(name) and not _is_imported_from(name, files)}
    # a file that was missing, or could not be imported, may change what others did during their import
    stale |= {each.name for each in changed if _may_be_outdated(each)}
    stale = {name for name in _add_connected(stale, snapshots) if _is_imported(name)}.difference(keep)
    if "__main__" in stale:
        raise ComponentError(
            _changed_program_message(next(filter(None, (_find_changed(name, files) for name in sorted(stale))), None))
        )
    _require_no_compiled(stale, {**_state.files, **files})
    _state.add(changed)
    _state.opened.forget(stale)
    for file in (file for name, file in {**_state.files, **files}.items() if top_level(name) in stale):
        linecache.cache.pop(file.path, None)  # a file that is read again is recorded again
    for name in [name for top in stale for name in _list_modules(top)]:
        del sys.modules[name]
    for name in [name for top in covered - stale for name in _list_modules(top)]:
        _note_classes(sys.modules[name])
        if name not in _state.imported:  # the module was imported before anything was recorded
            _state.opened.assume_read(name)
    _install_finder()
    return sorted(stale)


def _add_connected(stale: set[str], snapshots: Iterable[Snapshot]) -> set[str]:
    """Return packages, all that import them, and all that these import.

    Importers hold names of the earlier code. Imported packages may hold its values, for example in a registry or a
    cache.
    """
    known = {**_state.snapshots, **{each.name: each for each in snapshots}}.values()
    connected = set[str]()
    while stale - connected:
        connected |= stale
        stale = connected.union(*(each.packages for each in known if not connected.isdisjoint(each.packages)))
    return connected


def _require_no_compiled(packages: set[str], files: Mapping[str, PackageFile]) -> None:
    """Raise ComponentError for a changed extension module, because Python cannot reload it in one process."""
    for name in [name for package in packages for name in _list_modules(package)]:
        path = str(getattr(sys.modules[name], "__file__", None) or "")
        now = files.get(name)
        if path.endswith(tuple(EXTENSION_SUFFIXES)) and not (now and _state.imported.get(name) == now.digest):
            raise ComponentError(
                f"{path}: this compiled file changed, and only a new process can load it. Start the program again."
            )


def require_unchanged(cls: type, *, as_model: bool = False) -> None:
    """Raise ComponentError if a file that a user's class may read differs from its snapshot.

    Covers data, and code that is loaded by its path. With `as_model`, only files that the replies of a language model
    depend on.
    """
    known = class_snapshot(cls)
    opened = [known.files[name] for name in opened_by_model(cls) if name in known.files] if as_model else []
    for file in (*known.readable_files(cls if as_model else None), *opened):
        if file.has_changed:
            raise ComponentError(
                f"{file.path}: changed while {cls.__module__}.{cls.__qualname__} ran. Its code may read this "
                "file, so the result fits neither version. Run the same command again: finished work is cached. "
                "If the code itself writes this file, let it write to a hidden folder (.cache) of the working "
                "directory, or name the file *.log."
            )


def opened_by_model(cls: type) -> set[str]:
    """Return the files that a user's language model has opened so far, by names as in `Snapshot.names_opened`."""
    return class_snapshot(cls).names_opened(cls, _state.opened)


def identify_files(component: object, method: str) -> str:
    """Return the hash that a method of the component computes of its files. Keys cover its reads of these files."""
    with _state.opened.record_identified_files(type(component)):
        identify: Callable[[], str] = getattr(component, method)
        return identify()


def take_uncovered_reads() -> list[str]:
    """Return a message per folder with files that users' code has read since the last call and no key covers.

    Files that a class reads in its `content_hash` or `fingerprint` too, and all reads of a users' class that defines
    one of them, are left out: there, the author decides.
    """
    outside, _state.opened.readers_by_uncovered_path = _state.opened.readers_by_uncovered_path, {}
    files: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path, modules in sorted(outside.items()):
        files[os.path.dirname(path), ", ".join(sorted(modules))].append(path)  # noqa: PTH120 - text, not a file
    new = {place: paths for place, paths in files.items() if place not in _state.reported}
    _state.reported.update(new)
    return [_uncovered_message(modules, folder, paths) for (folder, modules), paths in new.items()]


def is_code_loaded() -> bool:
    """Return True if runs of this process have named packages of users."""
    return bool(_state.packages)


def list_uncovered_files(cls: type) -> set[str]:
    """Return the paths of files that the package of a user's class has read so far and that no key covers."""
    return set(_state.opened.uncovered_paths_by_package.get(top_level(cls.__module__), ()))


def package_folder(cls: type) -> Path:
    """Return the folder that contains the top-level package, or the only module, of a user's class."""
    name = top_level(cls.__module__)
    file = class_snapshot(cls).files.get(name)
    path = Path(os.path.realpath(file.path if file else os.curdir))
    return path.parent.parent if file and file.is_package else path.parent


def _uncovered_message(modules: str, folder: str, paths: Sequence[str]) -> str:
    what = paths[0] if len(paths) == 1 else f"{len(paths):,} files in {folder}"
    what = what if what.isprintable() else repr(what)
    return mask_text(
        f"{modules} read {what}, which the keys of the store do not cover: after an edit, earlier results would be "
        "reused. Move such files into the folder of the package, return a hash of them from content_hash(), or change "
        "the component's revision whenever you edit them (docs/identity.md)"
    )


def allow_edits() -> None:
    """Allow imports of edited modules until the next run, which loads their packages again. For notebooks."""
    _state.are_edits_refused = False


def code_class(component: object) -> type:
    """Return the class whose module has the code of a component.

    It is the component's own class, or its `code_class` if the component calls user code that it names.
    """
    named = getattr(component, "code_class", None)
    return named if isinstance(named, type) else type(component)


def class_snapshot(cls: type) -> Snapshot:
    """Return the code that defined a class. For a package that no run has named, return the current files."""
    snapshot = _state.by_class.get(cls)
    if snapshot is None:
        top = top_level(cls.__module__)
        snapshot = _state.snapshots.get(top) or take_snapshot(top)
        _state.by_class[cls] = snapshot
    return snapshot


def find_loaded(package: str) -> Snapshot | None:
    """Return the snapshot that covers a top-level package. None if no run has named it or a package that imports it."""
    return next((known for known in _state.snapshots.values() if package in known.packages), None)


class UserCode:
    """The code behind components, for a worker.

    Unpickle it before the components: it ensures that they are created from this code. Unpickling raises ComponentError
    if other code is already imported.
    """

    def __init__(self, components: Iterable[object]) -> None:
        classes = {code_class(component): component for component in components}
        snapshots = {cls: known for cls in classes if (known := _state.snapshots.get(top_level(cls.__module__)))}
        for cls, known in snapshots.items():
            if hasattr(classes[cls], "answers_from"):
                known.model_code(cls)  # the digest is computed here, because a worker has no source texts
        self._snapshots = tuple({known.name: known for known in snapshots.values()}.values())

    def __reduce__(self) -> tuple[Callable[..., "UserCode"], tuple[object, ...]]:
        return _receive, (
            self._snapshots,
            _state.opened.readers_by_file,
            _state.opened.importers_by_module,
            _state.opened.classes_by_identified_path,
        )


def _receive(
    snapshots: Sequence[Snapshot],
    read: Mapping[str, Collection[str]],
    imported: Mapping[str, Collection[str]],
    identified: Mapping[str, Collection[str]],
) -> UserCode:
    linecache.checkcache()
    new = [snapshot for snapshot in snapshots if not _is_loaded_as(snapshot)]
    for name, file in ((name, file) for snapshot in new for name, file in snapshot.files.items()):
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and not (_hash_file(path) == file.digest and _is_unchanged_since_start(top_level(name))):
            raise ComponentError(_change_message(name, path))
    files = {name: file for snapshot in new for name, file in snapshot.files.items()}
    for package in filter(_is_imported, {top_level(name) for name in files}):
        if changed_file := _find_changed(package, files):
            raise ComponentError(_change_message(package, changed_file.path))
    _state.add(new)
    _state.opened.add(read, imported, identified)
    _state.are_edits_refused = _state.are_edits_refused or bool(snapshots)
    _install_finder()
    return UserCode(())


def _top_levels(packages: Iterable[str]) -> list[str]:
    tops = sorted({top_level(package) for package in packages} - OURS)
    if tops:
        add_working_directory()
    return tops


def _is_loaded_as(snapshot: Snapshot) -> bool:
    known = _state.snapshots.get(snapshot.name)
    return known is not None and known.digest == snapshot.digest


def _may_be_outdated(snapshot: Snapshot) -> bool:
    """Return True if the files of this package may differ from those that its modules were imported from.

    For code that was imported before its first snapshot, only code files that are newer than this process count.
    """
    if snapshot.name in _state.snapshots:
        return not _is_loaded_as(snapshot)
    unread = set(snapshot.packages) - _state.packages
    code = [file for name, file in snapshot.files.items() if top_level(name) in unread and file.path.endswith(SUFFIXES)]
    is_new = _was_clock_set() or any(not _is_older(file.stamp[2]) for file in code)
    return is_new and any(map(_is_imported, unread))


def _are_untouched(snapshot: Snapshot) -> bool:
    known = _state.snapshots[snapshot.name].files
    return all(file.stamp == known[name].stamp for name, file in snapshot.files.items() if file.is_read)


def _find_changed(package: str, files: Mapping[str, PackageFile]) -> PackageFile | None:
    """Return a file that may have changed since a package's modules read it during their import, or None."""
    read = {name: file for name, file in files.items() if top_level(name) == package and file.is_read}
    if package not in _state.packages:
        return next((file for file in read.values() if _was_clock_set() or not _is_older(file.stamp[2])), None)
    known = {name: file.stamp for name, file in _state.files.items() if top_level(name) == package and file.is_read}
    names = [name for name in {**known, **read} if name not in read or known.get(name) != read[name].stamp]
    return next((read.get(name) or _state.files[name] for name in sorted(names)), None)


def _is_older(changed_ns: int) -> bool:
    """Return True for a change before this process started."""
    return changed_ns / 1e9 < _PROCESS_START_S + _STARTUP_S


def _list_modules(package: str) -> list[str]:
    return [name for name in sys.modules if top_level(name) == package]


def _list_files(package: str) -> list[str]:
    """Return the files of imported modules. A module created by hand has none, and cannot be imported again."""
    return [file for name in _list_modules(package) if (file := getattr(sys.modules[name], "__file__", None))]


def _is_imported(package: str) -> bool:
    return bool(_list_files(package))


def _is_imported_from(package: str, files: Mapping[str, PackageFile]) -> bool:
    """Return True if its modules were imported from these files, as far as we can tell."""
    if _find_changed(package, files):
        return False
    modules = [name for name in _list_modules(package) if getattr(sys.modules[name], "__file__", None)]
    known = [name for name in modules if name in _state.imported]
    if any(name not in files or files[name].digest != _state.imported[name] for name in known):
        return False
    return len(known) == len(modules) or _is_unchanged_since_start(package)


def _is_unchanged_since_start(package: str) -> bool:
    """Return True if the files of its modules have not changed since this process started, so they are what was
    imported.
    """
    try:
        return not _was_clock_set() and all(
            Path(file).stat().st_ctime < _PROCESS_START_S + _STARTUP_S for file in _list_files(package)
        )
    except OSError:
        return False


def _uptime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0


def _process_start() -> float:
    """Return the start of this process in seconds since 1970. 0 if the system does not report it."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.time() - _uptime() + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


_PROCESS_START_S = _process_start()  # a forked process has its parent's start, and its modules
_BOOT_TIME_S = time.time() - _uptime()


def _was_clock_set() -> bool:
    return abs(time.time() - _uptime() - _BOOT_TIME_S) > _MAX_CLOCK_DRIFT_S


def _hash_file(path: str) -> str:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def _change_message(module: str, path: str) -> str:
    return (
        f"{path}: changed after the code of {top_level(module)} was read for this run, and before it was "
        "imported, so results would fit neither version. Run the same command again: finished work is cached."
    )


def _changed_program_message(read: PackageFile | None) -> str:
    """Return the error for a program if its classes may be older than its files.

    `read` is the changed file if code reads it without importing it, otherwise None.
    """
    if read is None:
        return (
            "__main__: the program's file, or a file that it imports, changed since the program started. Start "
            "it again."
        )
    return (
        f"{read.path}: changed since the program was started. Its code names this file and may have read it before. "
        "Start the program again. If it writes this file itself, define the component in a separate module, and name "
        "that module in run.plugins instead of __main__"
    )


def _new_file_message(module: str, path: str) -> str:
    return (
        f"{path}: was not among the files of {top_level(module)} when its code was read for this run. It is new, "
        "or outside the package's folder, in a zip file, or where an editable install maps it. Move it into that "
        "folder if necessary, then run the same command again: finished work is cached."
    )


def _unknown_file_message(package: str, path: str, importer: str) -> str:
    return (
        f"{path}: {importer} imports it, but it was not found when the code of {importer} was read for this run: "
        f"{importer} changes sys.path, computes the name, or gives it to a library. Edits of this file would be "
        f"missed. Import it as a module of {importer}, or put its folder on PYTHONPATH and {package} into run.plugins"
    )


class _Finder(MetaPathFinder):
    """Finder for modules of the packages that runs have named. It returns the specs of the other finders."""

    asks_others = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of these packages, or of user code whose import must fail. None for others."""
        if top_level(fullname) not in _state.packages:
            return self._refuse_import(fullname, path)
        spec = next(_specs(self, fullname, path, target), None)
        if spec and type(spec.loader) is SourceFileLoader:
            spec.loader = _PluginLoader(spec.loader.name, spec.loader.path)
        elif spec and spec.origin and spec.origin.endswith(SUFFIXES):  # the module is compiled, or in a zip file
            _check(fullname, spec.origin, _hash_file(spec.origin))
        return spec

    def _refuse_import(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """Return the spec of a module whose import must fail. None for others.

        The import fails, not the search: libraries search for optional packages, and may find a file of the user.
        """
        package = top_level(fullname)
        # A package in sys.modules was checked when it was imported.
        if path is not None and getattr(sys.modules.get(package), "__file__", None):
            return None
        if not _state.are_edits_refused or not (importer := _find_importing_package()):
            return None
        spec = next(_specs(self, fullname, path, None), None)
        if spec and spec.origin and spec.origin.endswith(SUFFIXES) and is_user_package(package):
            spec.loader = _RefusedLoader(importer, spec.origin)
            return spec
        return None


def _find_importing_package() -> str:
    """Return the top-level package of user code that is currently importing, itself or through a library. "" for none.

    Code that called this program, such as a script, is not importing.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if top_level(name) in _state.packages:
            return top_level(name)
        if top_level(name) == "runner" and name != __name__:
            break
        frame = frame.f_back
    return ""


def _specs(
    finder: _Finder, fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> Iterator[ModuleSpec]:
    for other in sys.meta_path:
        if other is not finder and hasattr(other, "find_spec") and (spec := other.find_spec(fullname, path, target)):
            yield spec


def _install_finder() -> None:
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _RefusedLoader(SourceFileLoader):
    """Loader of user code without a snapshot. `name` is the package that imports it."""

    def get_code(self, fullname: str) -> CodeType:
        """Raise ComponentError, because no snapshot contains this file."""
        raise ComponentError(_unknown_file_message(top_level(fullname), self.path, self.name))


class _PluginLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile the bytes in the snapshot. Raises ComponentError if the file has changed since."""
        content = self.get_data(self.path)
        _check(fullname, self.path, sha256(content).hexdigest())
        code: CodeType = self.source_to_code(content, self.path)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, and record its snapshot as the code of its classes."""
        super().exec_module(module)
        _note_classes(module)


def _note_classes(module: ModuleType) -> None:
    if snapshot := _state.snapshots.get(top_level(module.__name__)):
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                _state.by_class[value] = snapshot


def _check(module: str, path: str, digest: str) -> None:
    file = _state.files.get(module)
    if file and file.digest == digest:
        _state.imported[module] = digest
        return
    if _state.are_edits_refused:
        raise ComponentError(_change_message(module, path) if file else _new_file_message(module, path))
    _state.drop(top_level(module))
