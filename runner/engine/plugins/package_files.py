"""Files of a user's package: its code, the data files in its folder, and files that its code names."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.machinery import SOURCE_SUFFIXES, all_suffixes
from pathlib import Path

from components.errors import ComponentError
from runner.engine.plugins.named_files import named_files
from runner.engine.plugins.source_imports import Imports, find_imports

SUFFIXES = tuple(all_suffixes())
"""Suffixes of files that Python imports."""

MAX_DATA_FILES = 5000
MAX_DATA_BYTES = 256 * 2**20
"""Maximum number and bytes of a package's data files that are hashed by content. Beyond either limit, files count by
name, size and mtime.
"""

_LEFT_OUT = re.compile(r"\..*|.*(~|\.pyo|\.tmp|\.log|\.lock)|mlflow\.db.*")
"""Names of data files that are ignored."""
_WITHOUT_DATA = frozenset({"mlartifacts", "mlruns"})
_RESULTS = ("store.json", "sweep.json")
"""Files that mark a folder with results of this program."""
_LOADS_BY_PATH = re.compile(rb"\b(?:exec|run_path|spec_from_file_location|SourceFileLoader|load_source)\s*\(")


def is_left_out(name: str) -> bool:
    """Return True for the name of a cache, a log or a hidden file, or of what MLflow writes to a working directory."""
    return name in _WITHOUT_DATA or bool(_LEFT_OUT.fullmatch(name))


Stamp = tuple[int, int, int]
"""Size, modification time and change time in ns. If the content changes, so does at least one of them."""


@dataclass(frozen=True)
class PackageFile:
    """A file of a user's package: source code, compiled code or data.

    `text` is None for data and compiled code, and in all processes that did not read the file. `named` are the files
    that it names, as listed in the snapshot. `is_read` marks files that code may read at any time: data, and code
    loaded by its path.
    """

    digest: str
    text: bytes | None = field(default=None, repr=False, compare=False)
    is_package: bool = False
    path: str = field(default="", compare=False)
    stamp: Stamp = field(default=(0, 0, 0), compare=False)
    is_data: bool = False
    is_read: bool = field(default=False, compare=False)
    named: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def imports(self, module: str) -> Imports:
        """Return the imports of the file as the module of that name. A compiled file may import anything."""
        if self.is_data:
            return Imports()
        if self.text is None:
            return Imports(is_dynamic=True)
        return find_imports(self.text, module, is_package=self.is_package)

    @property
    def has_changed(self) -> bool:
        """True if the content of the file differs now. False if its folder does not exist here: the folder is then on
        another machine.
        """
        path = Path(self.path)
        try:
            return _stamp(path) != self.stamp and data_digest(path, by_content=len(self.digest) == 64) != self.digest
        except FileNotFoundError:
            return path.parent.is_dir()
        except OSError:
            return self.digest != ""

    @property
    def modified_ns(self) -> int:
        """The modification time in ns since the epoch."""
        return self.stamp[1]

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        state = self.digest, None, self.is_package, self.path, self.stamp, self.is_data, self.is_read, self.named
        return PackageFile, state


def list_files(package: str, places: Sequence[Path], *, follow_names: bool = True) -> dict[str, PackageFile]:
    """Return all relevant files of a top-level package, by module name.

    A file that no import finds is listed under its path. `places` are the folders of the package, or its only file.
    Without `follow_names`, no code is parsed for files that its constants name. Raises ComponentError for unreadable
    code.
    """
    files, data = dict[str, PackageFile](), dict[str, Path]()
    for place in places:
        if place.is_file():
            files[package] = _read(place)
        for path in _paths_below(place, ()):
            if path.name.endswith(SUFFIXES):
                files.setdefault(_name_module(package, path.relative_to(place)), _read(path))
            elif not _LEFT_OUT.fullmatch(path.name):
                data.setdefault(f"{package}/{path.relative_to(place).as_posix()}", path)
    named = _add_named(package, places, files, data) if follow_names else set[str]()
    files |= _read_data(data)
    if any(file.text and _LOADS_BY_PATH.search(file.text) for file in files.values()):
        named |= files.keys()
    return {name: replace(file, is_read=file.is_data or name in named) for name, file in files.items()}


def _add_named(package: str, places: Sequence[Path], files: dict[str, PackageFile], data: dict[str, Path]) -> set[str]:
    """Record which files each module names, and add those outside the folder. Returns the names of all these files."""
    known = {os.path.realpath(path): name for name, path in data.items()}
    known |= {os.path.realpath(file.path): name for name, file in files.items()}
    # Only a folder inside the package names data. The name of the package itself names none.
    roots = tuple(os.path.realpath(place) + os.sep for place in places)
    waiting, named = list(files), set[str]()
    while waiting:
        module = waiting.pop()
        source, names = files[module], set[str]()
        for constant, path in named_files(source.text or b"", Path(source.path).parent):
            real = os.path.realpath(path)
            if path.is_dir():
                if real.startswith(roots):
                    below = (name for other, name in known.items() if other.startswith(real + os.sep))
                    names.update(name for name in below if name in data)
            elif real in known:
                names.add(known[real])
            elif not _LEFT_OUT.fullmatch(path.name):
                name = f"{package}/{_name_file(places, constant, path)}"
                # Another module may have the same constant, or it is relative to the working directory.
                while name in files or name in data:
                    name += "'"
                known[real] = name
                names.add(name)
                if path.name.endswith(tuple(SOURCE_SUFFIXES)):
                    files[name] = _read(path)
                    waiting.append(name)
                else:
                    data[name] = path
        names.discard(module)
        files[module] = replace(source, named=tuple(sorted(names)))
        named |= names
    return named


def _name_file(places: Sequence[Path], constant: str, path: Path) -> str:
    """Return a name that does not depend on where the package is."""
    folder = places[0] if places[0].is_dir() else places[0].parent
    relative = os.path.relpath(path, folder)
    return constant if relative.startswith("..") else relative


def _read_data(data: Mapping[str, Path]) -> dict[str, PackageFile]:
    stamps = {name: _stamp_or_none(path) for name, path in data.items()}
    n_bytes = sum(stamp[0] for stamp in stamps.values() if stamp)
    by_content = len(data) <= MAX_DATA_FILES and n_bytes <= MAX_DATA_BYTES
    return {name: _data_file(data[name], stamp, by_content) for name, stamp in stamps.items() if stamp}


def _data_file(path: Path, stamp: Stamp, by_content: bool) -> PackageFile:
    try:
        digest = data_digest(path, by_content=by_content)
    except OSError:  # the component cannot read it either; when it can, the digest changes
        digest = ""
    return PackageFile(digest, path=str(path.absolute()), stamp=stamp, is_data=True)


def data_digest(path: Path, *, by_content: bool) -> str:
    """Return the SHA-256 (hex) of a file, or its size and modification time. Raises OSError if it cannot be read."""
    if not by_content:
        size, modified, _ = _stamp(path)
        return f"{size} bytes, {modified} ns"
    return sha256(path.read_bytes()).hexdigest()


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _stamp_or_none(path: Path) -> Stamp | None:
    try:
        return _stamp(path)
    except OSError:  # the file was deleted after the listing
        return None


def _paths_below(folder: Path, parents: tuple[str, ...], *, with_data: bool = True) -> Iterator[Path]:
    """Yield regular files below a folder, through links too. A link to a parent folder is not followed."""
    real = os.path.realpath(folder)
    if real in parents or not folder.is_dir():
        return
    paths = sorted(folder.iterdir())
    with_data = with_data and folder.name not in _WITHOUT_DATA and not any(path.name in _RESULTS for path in paths)
    for path in paths:
        if path.is_dir():
            if path.name != "__pycache__" and not path.name.startswith("."):
                yield from _paths_below(path, (*parents, real), with_data=with_data)
        elif (path.name.endswith(SUFFIXES) or with_data) and path.is_file():
            yield path  # is_file() skips broken links, which are the lock files of editors


def _name_module(package: str, path: Path) -> str:
    stem = path.name.removesuffix(max(filter(path.name.endswith, SUFFIXES), key=len))  # for a.old.py: "a.old"
    names = [package, *path.parent.parts, *([] if stem == "__init__" else [stem])]
    return ".".join(names) if all(map(str.isidentifier, names)) else f"{package}/{path.as_posix()}"


def _read(path: Path) -> PackageFile:
    try:
        stamp = _stamp(path)
        content = path.read_bytes()
    except OSError as error:
        raise ComponentError(
            f"{path}: cannot be read ({error.strerror}), but results depend on all code of its package. Make it "
            "readable, or move it out of the package."
        ) from error
    return PackageFile(
        sha256(content).hexdigest(),
        content if path.name.endswith(tuple(SOURCE_SUFFIXES)) else None,
        is_package=path.name.startswith("__init__."),
        path=str(path.absolute()),
        stamp=stamp,
    )
