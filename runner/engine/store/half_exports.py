"""Half-written exports. They hold hard links to files of the store, so its space comes back only when they go.

    <root>/exports/<writer>.<number>   where that process writes an export: "folder", "out" and "host", as JSON
    <folder>/owner                     the name of that file, and the store
    <folder>/new, <folder>/old         the export that is being written; the one before, while it is replaced

The folder lies beside the export, wherever that is, under a hidden name. A process that was killed leaves the folder
and its record. The next export and `prune` remove both, once the writer has ended (see `runner.engine.store.writers`).
They remove no folder without the record's name in it, whatever a record says.
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
_LONGEST = 60
"""Characters of an export's name that the hidden name repeats: file systems allow 255 bytes."""


@dataclass(frozen=True)
class HalfExport:
    """One record: the folder that is written, and the export whose place it takes."""

    record: Path
    folder: Path
    out: Path
    host: str

    @property
    def new(self) -> Path:
        """The export that is being written."""
        return self.folder / _NEW

    @property
    def old(self) -> Path:
        """The export before, where it had to be moved away first."""
        return self.folder / _OLD

    @property
    def is_there(self) -> bool:
        """True if the folder exists and belongs to this record; an empty one has no owner yet."""
        try:
            owner = (self.folder / _OWNER).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return self.folder.is_dir() and not any(self.folder.iterdir())
        return owner.partition("\n")[0] == self.record.name

    @property
    def n_bytes(self) -> int:
        """The size of its files, those that the store has too among them."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*") if not path.is_dir())


class HalfExports:
    """Those of one store."""

    def __init__(self, root: Path, writers: Writers) -> None:
        """`root` is the store's. Its folder `exports` is made with the first record."""
        self._root = root
        self._records = root / "exports"
        self._writers = writers

    @contextmanager
    def begin(self, out: Path) -> Iterator[HalfExport]:
        """An empty folder `new` beside `out`, which exists; all of it is removed in the end. Raises OSError."""
        record = self._records / f"{self._writers.own_name}.{uuid.uuid4().hex[:8]}"
        half = HalfExport(record, out.with_name(_name_beside(out)), out, platform.node())
        self._write(half)
        try:
            half.folder.mkdir()
            (half.folder / _OWNER).write_text(f"{record.name}\n{self._root}\n", encoding="utf-8", errors="replace")
            half.new.mkdir()
            yield half
        finally:
            self.remove(half)

    def _write(self, half: HalfExport) -> None:
        """In one step: nobody reads half a record."""
        if not self._records.is_dir():
            self._records.mkdir(exist_ok=True)
            with suppress(PermissionError):  # another user was faster, and does the same
                self._records.chmod(self._root.stat().st_mode & 0o777)
        unfinished = self._root / "tmp" / uuid.uuid4().hex
        told = {"folder": str(half.folder), "out": str(half.out), "host": half.host}
        unfinished.write_text(json.dumps(told), encoding="utf-8")
        unfinished.chmod(shared_mode(self._records))
        unfinished.replace(half.record)

    def left(self) -> list[HalfExport]:
        """Those of processes that have ended. Another host's are among them if their folder is seen from here. Raises
        OSError.
        """
        found = []
        for record in sorted(self._records.glob("*")):
            writer = record.name.rpartition(".")[0]
            if writer and self._writers.has_ended(writer) and (half := _read(record)):
                with suppress(PermissionError):  # another user's, in a folder that this user may not look into
                    if half.is_there:
                        found.append(half)
                    elif self._writers.may_write and half.host == platform.node() and not half.folder.exists():
                        record.unlink(missing_ok=True)
        return found

    def remove(self, half: HalfExport) -> bool:
        """Removes the folder of a record and then the record; returns whether all of it is gone.

        An export that was moved away, and whose place is still free, gets that back. Another user's folder stays.
        """
        try:
            if half.is_there:
                if half.old.is_dir() and not half.out.exists():
                    half.old.rename(half.out)
                for path in (half.new, half.old):
                    if path.exists():
                        shutil.rmtree(path)
                (half.folder / _OWNER).unlink(missing_ok=True)  # last: without it nobody may remove the rest
                half.folder.rmdir()
            half.record.unlink(missing_ok=True)
        except FileNotFoundError:  # another process removes it too
            return False
        except OSError as error:
            log.warning("%s: left by an export, cannot be removed: %s", half.folder, error.strerror or error)
            return False
        return True


def of_others(out: Path) -> list[tuple[Path, str]]:
    """Half-written exports beside `out`, each with the store that has its record; "" for one of an earlier version,
    which left no record.
    """
    form, found = _form(out), []
    for folder in sorted(out.parent.glob(".*")):
        if form.fullmatch(folder.name) and ((folder / _NEW).is_dir() or (folder / _OLD).is_dir()):
            owner = folder / _OWNER
            lines = owner.read_text(encoding="utf-8", errors="replace").splitlines() if owner.is_file() else []
            found.append((folder, lines[1] if len(lines) > 1 else ""))
    return found


def _read(record: Path) -> HalfExport | None:
    """None for a record that a power cut damaged, or that was removed at this moment."""
    try:
        told = json.loads(record.read_bytes())
        folder, out = Path(str(told["folder"])), Path(str(told["out"]))
        host = str(told["host"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    is_beside = folder.parent == out.parent and _form(out).fullmatch(folder.name)
    return HalfExport(record, folder, out, host) if is_beside else None


def _name_beside(out: Path) -> str:
    return f".{out.name[:_LONGEST]}.{uuid.uuid4().hex[:8]}"


def _form(out: Path) -> "re.Pattern[str]":
    """That of names beside an export; `tempfile` made those of earlier versions."""
    return re.compile(rf"\.{re.escape(out.name[:_LONGEST])}\.[a-z0-9_]{{8}}")
