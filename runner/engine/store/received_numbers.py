"""Numbers that came from a server for a stage that is not kept yet: see `components.openai_server.received`.

    <folder>/<owner><random>.received   records of one process, each written when it arrived

All read all files; only the places of the records are held in memory. `drop` removes the files of one owner.

A record holds a checksum, the number of values, the hash of its key, and the values. One that is cut off or damaged
ends what is read of its file: what stood behind it is asked for again.
"""

import os
import time
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from struct import Struct
from typing import BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from runner.engine.store.part_files import keeping

_SUFFIX = ".received"
_SYNC_EVERY_S = 1.0
_HEAD = Struct("<II")
_N_KEY = 32
_MOST_VALUES = 1 << 20
"""No vector is longer: a number above it is a damaged one."""

Numbers = NDArray[np.float32]


@dataclass
class _File:
    """What was read of a file: up to where, and where its records begin, by the hash of the key."""

    identity: tuple[int, int] = (0, 0)
    n_read: int = 0
    places: dict[bytes, int] = field(default_factory=dict)

    def take_in(self, file: BinaryIO) -> None:
        """Reads the records that came since the last look."""
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != self.identity:  # dropped, begun anew
            self.identity, self.n_read = (status.st_dev, status.st_ino), 0
            self.places.clear()
        if status.st_size <= self.n_read:
            return
        file.seek(self.n_read)
        while record := _next_record(file):
            key, values = record
            self.places[key] = self.n_read
            self.n_read += _HEAD.size + _N_KEY + values.nbytes

    def values(self, file: BinaryIO, key: bytes) -> Numbers | None:
        """The values of a key; None if the file has none, or has changed."""
        if key not in self.places:
            return None
        file.seek(self.places[key])
        record = _next_record(file)
        return record[1] if record and record[0] == key else None


class ReceivedNumbers:
    """What is kept in a folder in the workspaces: that of a stage, or one that stages share."""

    def __init__(self, folder: Path, owner: str = "") -> None:
        """The folder is made when the first results come. `owner` is what they came for; "": of one."""
        self._folder, self._owner = folder, owner
        self._files: dict[str, _File] = {}
        self._name = self._new_name()
        self._synced = time.monotonic()

    def get_all(self, keys: Collection[str]) -> dict[str, Numbers]:
        """Those of the keys that are kept, by any process and for any owner."""
        paths = {path.name: path for path in sorted(self._folder.glob(f"*{_SUFFIX}"))}
        for gone in self._files.keys() - paths.keys():
            del self._files[gone]
        wanted = {_hash(key): key for key in keys} if paths else {}
        found: dict[str, Numbers] = {}
        for name, path in paths.items():
            with suppress(FileNotFoundError), path.open("rb") as file:  # another process may have dropped it
                known = self._files.setdefault(name, _File())
                known.take_in(file)
                for hashed in wanted.keys() & known.places.keys():
                    if (values := known.values(file, hashed)) is not None:
                        found[wanted[hashed]] = values
        return found

    def add_all(self, results: Mapping[str, Numbers]) -> None:
        """Writes results down. The disk is synced about once a second. Raises StoreError."""
        if not results:
            return
        lines = b"".join(_record(key, values) for key, values in results.items())
        with keeping("a result of a server", self._folder):
            try:
                try:
                    self._append(lines)
                except FileNotFoundError:  # another process dropped what was there at this moment
                    self._append(lines)
            except OSError:
                self._name = self._new_name()  # nothing behind half a record would be read
                raise

    def _append(self, lines: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / self._name).open("ab") as file:
            file.write(lines)
            file.flush()
            if time.monotonic() - self._synced > _SYNC_EVERY_S:
                os.fsync(file.fileno())
                self._synced = time.monotonic()

    def drop(self) -> None:
        """Removes all that came for the owner, and the folder if nothing else is in it."""
        for path in self._folder.glob(f"{self._owner}*{_SUFFIX}"):
            path.unlink(missing_ok=True)
        if self._owner:
            with suppress(OSError):
                self._folder.rmdir()

    def _new_name(self) -> str:
        return f"{self._owner}{uuid.uuid4().hex}{_SUFFIX}"


def _hash(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


def _record(key: str, values: Numbers) -> bytes:
    body = _hash(key) + np.ascontiguousarray(values, dtype="<f4").tobytes()
    return _HEAD.pack(crc32(body), len(values)) + body


def _next_record(file: BinaryIO) -> tuple[bytes, Numbers] | None:
    """The hash of the key, and the values; None at the end, and for a record that is cut off or damaged."""
    if len(head := file.read(_HEAD.size)) < _HEAD.size:
        return None
    checksum, n_values = _HEAD.unpack(head)
    n_body = _N_KEY + 4 * n_values
    body = file.read(n_body) if n_values <= _MOST_VALUES else b""
    if len(body) < n_body or crc32(body) != checksum:
        return None
    return body[:_N_KEY], np.frombuffer(body, dtype="<f4", offset=_N_KEY)
