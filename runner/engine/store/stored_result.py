"""One result in the store: its manifest and its parts."""

import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from components.errors import DamagedEntryError
from runner.engine.file_operations import link_or_copy
from runner.engine.store.manifests import MANIFEST, Manifest
from runner.engine.store.part_files import DECODING_ERRORS, READING_ERRORS, Part, checksum, part_name, read_part
from runner.engine.store.remote import NO_REMOTE, Remote

_OF_WINDOWS = ("Thumbs.db", "desktop.ini")
"""Files that Windows adds to folders that someone opened."""


@dataclass(frozen=True)
class StoredResult:
    """A result in the store.

    Each file is compared with its checksum once per process, when it is first read. `unreadable` says why a part could
    not be read although its file has the checksum: other versions of libraries may have written it. `is_new` is true if
    this process has just written the result. `Store.write` may return the result of another process that was faster.
    """

    folder: Path
    manifest: Manifest
    compared: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict, compare=False)
    is_new: bool = False
    remote: Remote = field(default=NO_REMOTE, compare=False, repr=False)

    @property
    def n_bytes(self) -> int:
        """Size of its files in bytes."""
        return sum(size for _, size in self.manifest.files.values())

    def damages(self, files: Iterable[str] | None = None, *, contents: bool = True) -> list[str]:
        """Describe each of the `files` (default: all) that does not match the manifest. Damaged or missing files that a
        remote store has are repaired.

        Without `contents`, only sizes are compared, and files that the manifest does not name are not looked for.
        """
        names = files if files is not None else self._all_names() if contents else self.manifest.files
        return [damage for name in names if (damage := self._damage_after_repair(name, contents=contents))]

    def _all_names(self) -> list[str]:
        """Return the files in the manifest, in the folder and in `unreadable`, without hidden ones, each once."""
        in_folder = (path.name for path in self.folder.glob("[!.]*") if path.name not in (MANIFEST, *_OF_WINDOWS))
        return list(dict.fromkeys((*self.manifest.files, *sorted(in_folder), *self.unreadable)))

    def _damage_after_repair(self, name: str, *, contents: bool) -> str:
        if name not in self.manifest.files:
            self.unreadable[name] = f"{name} is not in the manifest"
            return self.unreadable[name]
        if not contents and self._is_only_remote(name):
            return ""
        damage = self._damage(name, contents=contents)
        if damage and self.remote.download(self.folder, self.manifest.files, name):
            damage = self._damage(name, contents=True)
        return damage

    def _is_only_remote(self, name: str) -> bool:
        return self.remote.is_elsewhere(self.manifest.files, name) and not (self.folder / name).exists()

    def _damage(self, name: str, *, contents: bool) -> str:
        expected, size = self.manifest.files[name]
        path = self.folder / name
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                return f"{name} is {'a symbolic link' if stat.S_ISLNK(status.st_mode) else 'not a regular file'}"
            n_bytes = status.st_size
            if n_bytes != size:
                return f"{name} has {n_bytes} bytes, the manifest says {size}"
            if contents and checksum(path) != expected:
                return f"{name} does not match its checksum"
            if contents and name in self.unreadable:
                return self.unreadable[name]
        except FileNotFoundError:  # another process may be pruning the store
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
        return ""

    def parts(self) -> "StoredParts":
        """Return the parts. Each is read on access, which may raise DamagedEntryError."""
        return StoredParts(self)

    def part(self, name: str) -> Part:
        """Return one part.

        Raises DamagedEntryError if its file is missing, unreadable, or differs from its checksum.
        """
        path = self.file(name)
        try:
            return read_part(path)
        except READING_ERRORS as error:
            self.unreadable[path.name] = f"{path.name} cannot be read ({error})"
            raise self._damage_error(self.unreadable[path.name]) from error

    def file(self, name: str) -> Path:
        """Return the file of a part. Raises DamagedEntryError if it is missing or differs from its checksum."""
        file = next((file for file in self.manifest.files if part_name(file) == name), name)
        self._verify(file)
        return self.folder / file

    @contextmanager
    def decoding_errors(self) -> Iterator[None]:
        """Turn errors of decoding the parts into DamagedEntryError, so that the result is computed again.

        Their checksums are right, so another program wrote the parts, or a user changed them.
        """
        try:
            yield
        except DECODING_ERRORS as error:
            reason = f"not the parts of a result of this kind ({type(error).__name__}: {error})"
            self.unreadable.update(dict.fromkeys(self.manifest.files, reason))
            raise self._damage_error(reason) from error

    def put_file(self, file: str, path: Path) -> None:
        """Link a file to another path after comparing it with the checksum, or copy it if a link is impossible.

        Raises DamagedEntryError if the file is missing or differs from its checksum, and OSError if `path` cannot be
        written.
        """
        self._verify(file)
        try:
            link_or_copy(self.folder / file, path)
        except FileNotFoundError as error:
            if not path.parent.is_dir():
                raise
            raise self._damage_error(str(error)) from error

    def _verify(self, file: str) -> None:
        if file not in self.compared:
            if damages := self.damages([file]):
                raise self._damage_error("; ".join(damages))
            self.compared.add(file)

    def _damage_error(self, reason: str) -> DamagedEntryError:
        return DamagedEntryError(f"{self.manifest.kind} {self.manifest.key[:12]}: {reason}")


class StoredParts(Mapping[str, Part]):
    """Parts of a result by name. A part is read and verified only on access, and a missing part is damage."""

    def __init__(self, entry: StoredResult) -> None:
        self._entry = entry
        self._names = [part_name(file) for file in entry.manifest.files]

    def __getitem__(self, name: str) -> Part:
        return self._entry.part(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def file(self, name: str) -> Path:
        """Return the file of a part, for callers that read only some of it.

        Raises DamagedEntryError if it is missing or differs from its checksum.
        """
        return self._entry.file(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
