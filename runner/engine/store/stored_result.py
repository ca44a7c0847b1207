"""One result in the store: what is known of it, and reading its parts."""

import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from components.errors import DamagedEntryError
from runner.engine.linking import link_or_copy
from runner.engine.store.manifests import Manifest
from runner.engine.store.part_files import Part, checksum, part_name, read_part
from runner.engine.store.remote import NO_REMOTE, Remote


@dataclass(frozen=True)
class StoredResult:
    """A result in the store. Contents are compared with their checksums once per process: when a file is first read.
    `is_new` if this process has just written it; what `Store.write` returns may be another's, who was first.
    """

    folder: Path
    manifest: Manifest
    compared: set[str] = field(default_factory=set)
    is_new: bool = False
    remote: Remote = field(default=NO_REMOTE, compare=False, repr=False)

    @property
    def n_bytes(self) -> int:
        """Size of its files."""
        return sum(size for _, size in self.manifest.files.values())

    def damages(self, files: Iterable[str] | None = None, *, contents: bool = True) -> list[str]:
        """What of some (or all) files does not match the manifest; without `contents` only the sizes are compared. What
        is brought from elsewhere mends what is damaged or missing here.
        """
        names = self.manifest.files if files is None else files
        return [found for name in names if (found := self._mended_damage(name, contents=contents))]

    def _mended_damage(self, name: str, *, contents: bool) -> str:
        if not contents and self._waits_elsewhere(name):
            return ""
        found = self._damage(name, contents=contents)
        if found and self.remote.bring(self.folder, self.manifest.files, name):
            found = self._damage(name, contents=True)
        return found

    def _waits_elsewhere(self, name: str) -> bool:
        return self.remote.is_elsewhere(self.manifest.files, name) and not (self.folder / name).exists()

    def _damage(self, name: str, *, contents: bool) -> str:
        expected, size = self.manifest.files[name]
        path = self.folder / name
        try:
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                return f"{name} is a symbolic link"
            n_bytes = status.st_size
            if n_bytes != size:
                return f"{name} has {n_bytes} bytes, the manifest says {size}"
            if contents and checksum(path) != expected:
                return f"{name} does not match its checksum"
        except FileNotFoundError:  # it may go at any moment, if the store is being pruned
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
        return ""

    def parts(self) -> "StoredParts":
        """The parts, each read when it is asked for. Raises DamagedEntryError then."""
        return StoredParts(self)

    def part(self, name: str) -> Part:
        """One part, once its file was found to match its checksum. Raises DamagedEntryError."""
        path = self.file(name)
        try:
            return read_part(path)
        except (OSError, ValueError, EOFError) as error:
            raise self._damaged(str(error)) from error

    def file(self, name: str) -> Path:
        """Where a part lies, once its file was found to match its checksum. Raises DamagedEntryError."""
        file = next(file for file in self.manifest.files if part_name(file) == name)
        self._compare(file)
        return self.folder / file

    def put_file(self, file: str, path: Path) -> None:
        """A file as it is in another place, once it was found to match its checksum: a link where there can be one.
        Raises DamagedEntryError, or OSError if it cannot be put there.
        """
        self._compare(file)
        try:
            link_or_copy(self.folder / file, path)
        except FileNotFoundError as error:
            if not path.parent.is_dir():
                raise
            raise self._damaged(str(error)) from error

    def _compare(self, file: str) -> None:
        if file not in self.compared:
            if found := self.damages([file]):
                raise self._damaged("; ".join(found))
            self.compared.add(file)

    def _damaged(self, why: str) -> DamagedEntryError:
        return DamagedEntryError(f"{self.manifest.kind} {self.manifest.key[:12]}: {why}")


class StoredParts(Mapping[str, Part]):
    """The parts of an entry by name; what is not asked for is neither read nor compared."""

    def __init__(self, entry: StoredResult) -> None:
        self._entry = entry
        self._names = [part_name(file) for file in entry.manifest.files]

    def __getitem__(self, name: str) -> Part:
        if name not in self._names:
            raise KeyError(name)
        return self._entry.part(name)

    def file(self, name: str) -> Path:
        """Where a part lies, for those who read some of it. Raises DamagedEntryError."""
        return self._entry.file(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
