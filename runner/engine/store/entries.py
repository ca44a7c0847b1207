"""Reading, writing, locking and listing the entries of a store."""

import errno
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from components.errors import DamagedEntryError, StoreError
from runner.engine.store.codec import Payload, file_name, part_name, read_part, write_part

FORMAT = 1
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """What is known of a result without reading it.

    `partial` marks a result with failed requests (or built on one): only the run that made it, `run_id`, may use it.
    `files` maps file names to [SHA-256, bytes]; `made_with` are the versions of packages and of this project.
    """

    kind: str
    key: str
    seconds: float
    created: float
    run_id: str
    partial: bool
    files: Mapping[str, tuple[str, int]]
    made_from: Any
    made_with: Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """A result in the store."""

    folder: Path
    manifest: Manifest

    @property
    def n_bytes(self) -> int:
        """Size of its files."""
        return sum(size for _, size in self.manifest.files.values())

    def damages(self, files: Iterable[str] | None = None, *, contents: bool = True) -> list[str]:
        """What of some (or all) files does not match the manifest; without `contents` only the sizes are compared."""
        found = []
        for name in self.manifest.files if files is None else files:
            checksum, size = self.manifest.files[name]
            path = self.folder / name
            if not path.is_file():
                found.append(f"{name} is missing")
            elif path.stat().st_size != size:
                found.append(f"{name} has {path.stat().st_size} bytes, the manifest says {size}")
            elif contents and _checksum(path) != checksum:
                found.append(f"{name} does not match its checksum")
        return found

    def read(self, *parts: str) -> dict[str, Any]:
        """The parts of these names, or all, once their files match their checksums. Raises DamagedEntryError."""
        files = {part_name(name): name for name in self.manifest.files}
        wanted = {part: files[part] for part in parts or files}
        if found := self.damages(wanted.values()):
            raise DamagedEntryError(f"{self.manifest.kind} {self.manifest.key[:12]}: {'; '.join(found)}")
        try:
            return {part: read_part(self.folder / name) for part, name in wanted.items()}
        except (OSError, ValueError) as error:
            raise DamagedEntryError(f"{self.manifest.kind} {self.manifest.key[:12]}: {error}") from error


class Store:
    """A store in a folder. Making one checks that the folder can be written and is of a format that is understood."""

    def __init__(self, root: Path, run_id: str = "") -> None:
        """`run_id` is the run that writes; "" for a reader. Raises StoreError."""
        self.root = root
        self.run_id = run_id
        try:
            for name in ("entries", "journals", "replies", "locks", "tmp"):
                (root / name).mkdir(parents=True, exist_ok=True)
            probe = root / "tmp" / f"probe-{uuid.uuid4().hex}"
            probe.write_text("")
            probe.unlink()
            self._check_format()
        except OSError as error:
            raise StoreError(
                f"run.store_dir: cannot write in {root}: {error.strerror or error}; choose another run.store_dir"
            ) from error

    def _check_format(self) -> None:
        path = self.root / "store.json"
        if not path.exists():
            temporary = self.root / "tmp" / uuid.uuid4().hex
            temporary.write_text(json.dumps({"format": FORMAT}))
            temporary.replace(path)
        try:
            found = json.loads(path.read_text())["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path}: not a store's description; remove the folder or choose another run.store_dir"
            ) from error
        if found != FORMAT:
            raise StoreError(
                f"{path}: the store has format {found}, this version reads format {FORMAT}. "
                f"{'Upgrade rag-grid' if found > FORMAT else 'Remove the folder'}, or choose another run.store_dir"
            )

    def folder(self, kind: str, key: str, *, partial: bool = False) -> Path:
        """Where a result is or would be; partial ones are apart, so that no run replaces what another is using."""
        name = f"{key}-{self.run_id}" if partial else key
        return self.root / "entries" / kind / key[:2] / name

    def find(self, kind: str, key: str) -> Entry | None:
        """The usable result of this key, or the partial one that this run made; its checksums are compared only when
        it is read.
        """
        return self._entry(self.folder(kind, key)) or self._entry(self.folder(kind, key, partial=True))

    def has_damaged_manifest(self, kind: str, key: str) -> bool:
        """True if there is a manifest that cannot be read."""
        folder = self.folder(kind, key)
        return (folder / _MANIFEST).exists() and self._entry(folder) is None

    def _entry(self, folder: Path) -> Entry | None:
        """None without a manifest; one that cannot be read counts as none, since its result will be computed again."""
        try:
            raw = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
            files = {name: (str(checksum), int(size)) for name, (checksum, size) in raw.pop("files").items()}
            return Entry(folder, Manifest(**raw, files=files))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(
        self,
        kind: str,
        key: str,
        payload: Payload,
        *,
        seconds: float,
        made_from: Any,
        made_with: Mapping[str, str] | None = None,
        partial: bool = False,
    ) -> Entry:
        """Writes a result so that it is there whole or not at all, in place of one with the same key.

        Raises StoreError if the disk is full or refuses; TypeError or ValueError for a payload that has no file format.
        """
        temporary = self.root / "tmp" / uuid.uuid4().hex
        try:
            temporary.mkdir()
            files = {}
            for name, value in payload.items():
                path = temporary / file_name(name, value)
                write_part(path, value)
                _sync(path)
                files[path.name] = (_checksum(path), path.stat().st_size)
            manifest = Manifest(
                kind, key, seconds, time.time(), self.run_id, partial, files, made_from, made_with or {}
            )
            path = temporary / _MANIFEST
            path.write_text(json.dumps(asdict(manifest), ensure_ascii=False, indent=1), encoding="utf-8")
            _sync(path)
            return Entry(self._move_in(temporary, self.folder(kind, key, partial=partial)), manifest)
        except OSError as error:
            what = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror or error)
            raise StoreError(
                f"{self.root}: cannot keep the result of stage '{kind}': {what}. Free some space "
                "(python -m runner.store prune), then give the same command again: finished stages are kept"
            ) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # gone already if it was moved to its place

    def _move_in(self, temporary: Path, folder: Path) -> Path:
        folder.parent.mkdir(parents=True, exist_ok=True)
        replaced = self.root / "tmp" / uuid.uuid4().hex
        if folder.exists():
            folder.replace(replaced)
        temporary.replace(folder)
        _sync(folder.parent)
        shutil.rmtree(replaced, ignore_errors=True)
        return folder

    def discard(self, entry: Entry) -> None:
        """Removes a result; its manifest goes first, so that a half-removed one does not exist."""
        (entry.folder / _MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(entry.folder, ignore_errors=True)

    def lock(self, key: str) -> FileLock:
        """Held while a result is computed: others wait, then find it. Released when its holder dies."""
        return FileLock(self.root / "locks" / f"{key}.lock")

    def journal(self, key: str) -> Path:
        """The file of answers of an unfinished generation."""
        return self.root / "journals" / f"{key}.jsonl"

    def replies(self, key: str) -> Path:
        """The file of all replies that a judge ever gave, by request."""
        return self.root / "replies" / f"{key}.jsonl"

    def entries(self) -> Iterator[Entry]:
        """All results, those with an unreadable manifest left out."""
        for path in sorted((self.root / "entries").glob(f"*/*/*/{_MANIFEST}")):
            if entry := self._entry(path.parent):
                yield entry

    def folders_without_manifest(self) -> list[Path]:
        """Folders that hold no readable result."""
        folders = sorted(path for path in (self.root / "entries").glob("*/*/*") if path.is_dir())
        return [folder for folder in folders if self._entry(folder) is None]


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
