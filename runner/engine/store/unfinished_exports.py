"""Unfinished exports. They hold hard links to files of the store, which take up space until they are removed.

    <root>/exports/<writer>.<number>   record of an export that a process writes: "folder", "out" and "host", as JSON
    <folder>/owner                     the name of that record, and the store
    <folder>/new, <folder>/old         the export being written; the export before it, while it is replaced

The folder is next to the export, wherever that is, under a hidden name. A killed process leaves the folder and its
record. The next export and `prune` remove both once the writer has ended (see `runner.engine.store.writers`). They
remove only folders that contain the record's name, whatever a record claims.
"""

import json
import logging
import platform
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.engine.store.locks import shared_mode
from runner.engine.store.writers import Writers

log = logging.getLogger(__name__)

_OWNER, _NEW, _OLD = "owner", "new", "old"
_MAX_NAME_CHARACTERS = 60
"""Maximum number of characters of an export's name in the hidden name: file systems allow 255 bytes."""


@dataclass(frozen=True)
class UnfinishedExport:
    """One record: the folder being written, and the export that it will replace."""

    record: Path
    folder: Path
    out: Path
    host: str

    @property
    def new(self) -> Path:
        """Folder of the export being written."""
        return self.folder / _NEW

    @property
    def old(self) -> Path:
        """Folder of the previous export, if it had to be moved away first."""
        return self.folder / _OLD

    @property
    def exists(self) -> bool:
        """True if the folder exists and belongs to this record. An empty folder has no owner yet."""
        try:
            owner = (self.folder / _OWNER).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return self.folder.is_dir() and not any(self.folder.iterdir())
        return owner.partition("\n")[0] == self.record.name

    @property
    def n_bytes(self) -> int:
        """Size of its files in bytes, including files that it shares with the store."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*") if not path.is_dir())


class UnfinishedExports:
    """Records of the exports that read one store, so that a killed export can be found and removed."""

    def __init__(self, root: Path, writers: Writers) -> None:
        """`root` is the folder of the store. The first record creates its folder `exports`."""
        self._root = root
        self._records = root / "exports"
        self._writers = writers

    @contextmanager
    def begin(self, out: Path) -> Iterator[UnfinishedExport]:
        """Create an empty folder `new` next to the existing folder `out`. Everything is removed at the end.

        Raises OSError if a folder or the record cannot be written.
        """
        record = self._records / f"{self._writers.own_name}.{uuid.uuid4().hex[:8]}"
        export = UnfinishedExport(record, out.with_name(_name_beside(out)), out, platform.node())
        self._write(export)
        try:
            export.folder.mkdir()
            (export.folder / _OWNER).write_text(f"{record.name}\n{self._root}\n", encoding="utf-8", errors="replace")
            export.new.mkdir()
            yield export
        finally:
            self.remove(export)

    def _write(self, export: UnfinishedExport) -> None:
        """Write the record in one step, so that no process reads an incomplete one."""
        if not self._records.is_dir():
            self._records.mkdir(exist_ok=True)
            with suppress(PermissionError):  # another user created it, with the same permissions
                self._records.chmod(self._root.stat().st_mode & 0o777)
        unfinished = self._root / "tmp" / uuid.uuid4().hex
        fields = {"folder": str(export.folder), "out": str(export.out), "host": export.host}
        unfinished.write_text(json.dumps(fields), encoding="utf-8")
        unfinished.chmod(shared_mode(self._records))
        unfinished.replace(export.record)

    def left(self) -> list[UnfinishedExport]:
        """Return the unfinished exports of processes that have ended. Raises OSError if a record cannot be read.

        An export of another host is included if its folder is visible from here.
        """
        exports = []
        for record in sorted(self._records.glob("*")):
            writer = record.name.rpartition(".")[0]
            if writer and self._writers.is_dead(writer) and (export := _read_record(record)):
                with suppress(PermissionError):  # another user's, in a folder that this user may not read
                    if export.exists:
                        exports.append(export)
                    elif self._writers.may_write and export.host == platform.node() and not export.folder.exists():
                        record.unlink(missing_ok=True)
        return exports

    def remove(self, export: UnfinishedExport) -> bool:
        """Remove the folder of a record and then the record. Returns True if both were removed.

        Restores an export that was moved away if its path is still free. Leaves another user's folder.
        """
        try:
            if export.exists:
                if export.old.is_dir() and not export.out.exists():
                    export.old.rename(export.out)
                for path in (export.new, export.old):
                    if path.exists():
                        shutil.rmtree(path)
                # Last, because only its presence permits removing the rest.
                (export.folder / _OWNER).unlink(missing_ok=True)
                export.folder.rmdir()
            export.record.unlink(missing_ok=True)
        except FileNotFoundError:  # another process is removing it too
            return False
        except OSError as error:
            log.warning(
                "%s: cannot remove this folder, which an export left: %s", export.folder, error.strerror or error
            )
            return False
        return True


def exports_beside(out: Path) -> list[tuple[Path, str]]:
    """Return unfinished exports next to `out`, each with the store that has its record.

    The store is "" for an export of an earlier version, which left no record.
    """
    pattern, exports = _name_pattern(out), []
    for folder in sorted(out.parent.glob(".*")):
        if pattern.fullmatch(folder.name) and ((folder / _NEW).is_dir() or (folder / _OLD).is_dir()):
            owner = folder / _OWNER
            lines = owner.read_text(encoding="utf-8", errors="replace").splitlines() if owner.is_file() else []
            exports.append((folder, lines[1] if len(lines) > 1 else ""))
    return exports


def _read_record(record: Path) -> UnfinishedExport | None:
    """Return the export of a record. None if a power cut damaged the record, or if it has just been removed."""
    try:
        fields = json.loads(record.read_bytes())
        folder, out = Path(str(fields["folder"])), Path(str(fields["out"]))
        host = str(fields["host"])
    except (FileNotFoundError, RecursionError, ValueError, KeyError, TypeError):
        return None
    is_beside = folder.parent == out.parent and _name_pattern(out).fullmatch(folder.name)
    return UnfinishedExport(record, folder, out, host) if is_beside else None


def _name_beside(out: Path) -> str:
    return f".{out.name[:_MAX_NAME_CHARACTERS]}.{uuid.uuid4().hex[:8]}"


def _name_pattern(out: Path) -> "re.Pattern[str]":
    """Return the pattern of hidden names next to an export, including the `tempfile` names of earlier versions."""
    return re.compile(rf"\.{re.escape(out.name[:_MAX_NAME_CHARACTERS])}\.[a-z0-9_]{{8}}")
