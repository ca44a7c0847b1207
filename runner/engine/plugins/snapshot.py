"""Snapshots of users' code: the files of a package, its data, and all other user code that it may import.

User code is a package that `run.plugins` names, and everything that it imports from outside the standard library and
the installed distributions. Distributions have versions, but only a hash shows a change of user code.
"""

import json
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from components.json_value import Json
from runner.engine.plugins.computed_paths import builds_paths, computes_paths
from runner.engine.plugins.named_files import find_named_files
from runner.engine.plugins.opened_files import ANY_MODULE, LISTED, OpenedFiles, find_folder
from runner.engine.plugins.package_files import SUFFIXES, PackageFile, list_files
from runner.engine.plugins.source_imports import may_import_by_name, mentioned_packages, top_level

ALL_CODE = "*"
"""Name of all code files together, for a model that imports code in a way that its source does not show."""
_READING_DOCS = (b"__doc__", b"getdoc")
"""Words of code that may read docstrings."""
_DATA_NAMES = "/*"
"""Suffix of a package for the names of all its data."""

OURS = frozenset({"analysis", "components", "conf", "runner", "sweeps"})
"""Packages of this project. A test guards their versions, so they need no snapshot."""

_INSTALLED = frozenset({"site-packages", "dist-packages", "lib-dynload"})
_STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()


@dataclass(frozen=True)
class ModelCode:
    """The part of a package's code that a language model's replies depend on: digests by module."""

    digest: str
    modules: Mapping[str, str]


@dataclass(frozen=True)
class Snapshot:
    """The code behind the top-level package `name`.

    `files` holds the files of all user code that it may import, by module name. A file that no import finds (data, a
    name with a dash) is listed under its path.
    """

    name: str
    files: Mapping[str, PackageFile]
    models: dict[str, ModelCode] = field(default_factory=dict, compare=False)
    """Results of `model_code` by class, so that a worker need not read the files again."""
    without_files: frozenset[str] = field(default=frozenset(), compare=False)
    """Packages whose files cannot be listed, such as a namespace of an editable install. Their modules are refused."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of all files and their names, independent of their folder. "" without files."""
        return _hash_files(self.files)

    @cached_property
    def packages(self) -> list[str]:
        """Top-level packages that it covers, sorted."""
        return sorted({top_level(name) for name in self.files} | self.without_files)

    def readable_files(self, cls: type | None = None) -> list[PackageFile]:
        """Return the files that code may read at any time.

        With the class of a model, return only files that the replies of this model depend on.
        """
        names = self.model_code(cls).modules if cls else self.files
        return [file for name in names if (file := self.files[name]).is_read]

    def package_files(self, package: str) -> dict[str, PackageFile]:
        """Return the files of one of `packages`, and the files outside its folder that it names, as in `files`."""
        return {name: file for name, file in self.files.items() if top_level(name) == package}

    def get_digest(self, package: str) -> str:
        """Return the `digest` of one of `packages`."""
        return _hash_files(self.package_files(package))

    def model_code(self, cls: type) -> ModelCode:
        """Return the code that the replies of a model depend on.

        It consists of the modules that define the class and its parents, all modules that these import, transitively,
        and the files that these modules name. If a module imports by computed names, all code is included. If a module
        computes paths, all data of their packages is included.
        """
        name = f"{cls.__module__}.{cls.__qualname__}"
        if name not in self.models:
            reached = self._reachable({parent.__module__ for parent in cls.__mro__})
            reached |= self._data_at_computed_paths(reached)
            self.models[name] = ModelCode(
                _hash_files(self._drop_empty(reached, cls.__module__)),
                {each: self.files[each].digest for each in sorted(reached)},
            )
        return self.models[name]

    def names_opened(self, cls: type, opened: OpenedFiles) -> set[str]:
        """Return the files that a model's modules were seen to open, without the files in its `model_code`.

        These are names of files, names of folders with a slash at the end, and `ALL_CODE`. Code that opens a file which
        its source does not show may look for others first, so the names of all data of the package count too.
        """
        modules = self.model_code(cls).modules
        readers = {*modules, ANY_MODULE}
        read = {
            name for name, by in list(opened.readers_by_file.items()) if not readers.isdisjoint(by)
        } - modules.keys()
        imported = {name for name, by in list(opened.importers_by_module.items()) if not readers.isdisjoint(by)}
        packages = {f"{top_level(name)}{_DATA_NAMES}" for name in read}
        return read | packages | ({ALL_CODE} if imported.intersection(self.files) - modules.keys() else set())

    def opened_digest(self, name: str) -> str:
        """Return the SHA-256 (hex) of an item of `names_opened` in this snapshot.

        It covers the content of a file ("" if it does not exist), or the names of all files below a folder.
        """
        if name.endswith(_DATA_NAMES):
            package = name.removesuffix(_DATA_NAMES)
            return _hash(
                sorted(each for each, file in self.files.items() if file.is_data and top_level(each) == package)
            )
        if name == ALL_CODE:
            return _hash_files({each: file for each, file in self.files.items() if not file.is_data})
        if not name.endswith(LISTED):
            return self.files[name].digest if name in self.files else ""
        below = sorted(each for each, file in self.files.items() if f"{find_folder(each, file)}/".startswith(name))
        return _hash(below)

    def _drop_empty(self, names: Collection[str], module: str) -> dict[str, PackageFile]:
        """Return the files of these names without modules that lack statements. The module of the class stays, and so
        do modules with a docstring if some module reads docstrings, for example as prompts.
        """
        texts = {name: self.files[name].text or b"" for name in names}
        reads_docs = any(word in text for text in texts.values() for word in _READING_DOCS)
        return {
            name: self.files[name]
            for name, text in texts.items()
            if name == module or (reads_docs and text.strip()) or not self.files[name].imports(name).does_nothing
        }

    def _data_at_computed_paths(self, modules: Collection[str]) -> set[str]:
        """Return all data of the packages if a module computes paths, else the data whose name or folder one names.

        A name may be relative to any folder of the package: `Path(__file__).parent.parent / "prompts" / "answer.txt"`.
        """
        texts = [self.files[name].text or b"" for name in modules]
        if not any(map(builds_paths, texts)):
            return set()
        packages = set(map(top_level, modules))
        data = {name for name, file in self.files.items() if file.is_data and top_level(name) in packages}
        if any(map(computes_paths, texts)):
            return data
        named = {constant.strip("/") for text in texts for constant in find_named_files(text)}
        return {name for name in data if not named.isdisjoint(_split_path(name))}

    def _reachable(self, modules: Collection[str]) -> set[str]:
        reached, waiting = set[str](), [name for module in modules for name in _with_parents(module)]
        while waiting:
            name = waiting.pop()
            if name in reached or name not in self.files:
                continue
            reached.add(name)
            imports = self.files[name].imports(name)
            if imports.is_dynamic:
                named = {each for file in self.files.values() for each in file.named}
                return named | {each for each, file in self.files.items() if not file.is_data}
            waiting += self.files[name].named
            waiting += [each for imported in imports.names for each in _with_parents(imported)]
            waiting += [each for each in self.files if each.rpartition(".")[0] in imports.star_imported_packages]
        return reached


def _split_path(name: str) -> Iterator[str]:
    """Yield the parts of a path that may name its file or one of its folders, without the package."""
    parts = name.split("/")[1:]
    for last in range(1, len(parts) + 1):
        yield from ("/".join(parts[first:last]) for first in range(last))


def _hash_files(files: Mapping[str, PackageFile]) -> str:
    """Return the hash of files and their names. "" without files.

    A single file counts without its name, which keeps keys from before names counted.
    """
    if len(files) == 1:
        return next(iter(files.values())).digest
    return _hash([[name, files[name].digest] for name in sorted(files)]) if files else ""


def _hash(listed: Json) -> str:
    return sha256(json.dumps(listed).encode()).hexdigest()


def _with_parents(module: str) -> Iterator[str]:
    """Yield a module and the packages that its import imports."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def hash_installed_package(package: str) -> str:
    """Return the SHA-256 (hex) of the files of a top-level package as they are now. "" without files."""
    return _hash_files(list_files(package, find_package_paths(package), follow_names=package not in OURS))


def take_snapshot(
    package: str, plugins: Collection[str] = (), read: dict[str, Mapping[str, PackageFile]] | None = None
) -> Snapshot:
    """Return the code of a top-level package as it is on the disk now. Imports nothing.

    `plugins` are top-level packages that count as user code although they are installed. Code that imports by computed
    names may import all of them. `read` holds the files of packages that were read before. This function adds to it,
    so that snapshots that share it agree. Raises ComponentError for a file that cannot be read.
    """
    read = {} if read is None else read
    files: dict[str, PackageFile] = {}
    seen, waiting = {package}, [package]
    while waiting:
        name = waiting.pop()
        if name not in read:
            read[name] = list_files(name, find_package_paths(name))
        files |= read[name]
        needed = _find_user_packages(read[name], plugins, known=seen)
        seen |= needed
        waiting += sorted(needed)
    return Snapshot(package, files, without_files=frozenset(name for name in seen if not read[name]))


def _find_user_packages(files: Mapping[str, PackageFile], plugins: Collection[str], known: Collection[str]) -> set[str]:
    """Return the top-level packages of user code that files import, without `known` ones."""
    mentioned = {name: mentioned_packages(file.text) for name, file in files.items() if file.text}
    new = set[str]().union(*mentioned.values()).difference(known)
    users = {top for top in new if top in plugins or is_user_package(top)}
    parsed = (files[name].imports(name).names for name, tops in mentioned.items() if tops & users)
    packages = {top_level(imported) for names in parsed for imported in names} & users
    is_computed = any(file.text and may_import_by_name(file.text) for file in files.values())
    return packages | (set(plugins).difference(known) if is_computed else set())


def is_user_package(package: str) -> bool:
    """Return True for code that is neither ours, nor Python's, nor part of an installed distribution.

    A namespace package with one portion of the user's is the user's, and so is code that site-packages links to.
    """
    if package in OURS or package == "__main__":
        return False
    places = find_package_paths(package)
    if package in sys.stdlib_module_names:  # a file on PYTHONPATH takes its place, unless it is Python's own zip file
        places = [place for place in places if place.exists()]
    return not all(map(_is_installed, places))


def _is_installed(place: Path) -> bool:
    real = place.resolve()
    return bool(_INSTALLED & set(real.parts)) or real.is_relative_to(_STANDARD_LIBRARY)


def find_package_paths(package: str) -> Sequence[Path]:
    """Return the folders of a top-level package, or its file. () for others, such as a built-in module."""
    spec = _find_spec(package)
    if spec is None:
        file = getattr(sys.modules.get(package), "__file__", None)
        return [Path(file)] if file else ()
    if spec.submodule_search_locations is not None:
        return [Path(folder) for folder in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin and spec.origin.endswith(SUFFIXES) else ()


def _find_spec(package: str) -> ModuleSpec | None:
    """Return the spec that a new process would find.

    A package of the same name that was imported from another folder hides it only if there is no other.
    """
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find and not getattr(finder, "asks_others", False) and (spec := find(package, None, None)):
            module_spec: ModuleSpec = spec
            return module_spec
    try:
        return find_spec(package)
    except (ImportError, ValueError):  # a module created by hand, or a program, has no spec
        return None
