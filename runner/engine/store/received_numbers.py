"""Numbers received from a server for a stage without a result yet. See `components.openai_server.received_replies`.

    <folder>/<owner><random>.received   records of one process, each written when it arrived

Every process reads all files, but only the positions of the records are in memory. `drop` removes the files of one
owner.

A record holds a checksum, the number of values, the hash of its key, and the values. Reading of a file stops at an
incomplete or damaged record: the records behind it are requested again.
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

from runner.engine.store.part_files import storage_errors
from runner.engine.store.regular_files import open_regular

_SUFFIX = ".received"
_SYNC_EVERY_S = 1.0
_HEAD = Struct("<II")
_N_KEY = 32
_MAX_VALUES = 1 << 20
"""Longest possible vector. A larger count comes from a damaged record."""

Numbers = NDArray[np.float32]


@dataclass
class _FileIndex:
    """The part of a file read so far, and the positions of its records by the hash of the key."""

    identity: tuple[int, int] = (0, 0)
    n_read: int = 0
    places: dict[bytes, int] = field(default_factory=dict)

    def read_new(self, file: BinaryIO) -> None:
        """Read the records appended since the last call."""
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != self.identity:  # the file was dropped and created again
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
        """Return the values of a key. None if the file does not contain it, or has changed."""
        if key not in self.places:
            return None
        file.seek(self.places[key])
        record = _next_record(file)
        return record[1] if record and record[0] == key else None


class ReceivedNumbers:
    """Numbers in the workspace of one stage, or in a workspace that several stages share."""

    def __init__(self, folder: Path, owner: str = "") -> None:
        """The first numbers create the folder. `owner` is the stage that drops them in a shared folder; ""
        otherwise.
        """
        self._folder, self._owner = folder, owner
        self._files: dict[str, _FileIndex] = {}
        self._name = self._new_name()
        self._synced = time.monotonic()

    def get_all(self, keys: Collection[str]) -> dict[str, Numbers]:
        """Return the stored numbers of these keys, from any process and owner."""
        paths = {path.name: path for path in sorted(self._folder.glob(f"*{_SUFFIX}"))}
        for gone in self._files.keys() - paths.keys():
            del self._files[gone]
        keys_by_hash = {_hash(key): key for key in keys} if paths else {}
        numbers: dict[str, Numbers] = {}
        for name, path in paths.items():
            with suppress(FileNotFoundError), open_regular(path) as file:  # another process may have dropped the file
                index = self._files.setdefault(name, _FileIndex())
                index.read_new(file)
                for hashed in keys_by_hash.keys() & index.places.keys():
                    if (values := index.values(file, hashed)) is not None:
                        numbers[keys_by_hash[hashed]] = values
        return numbers

    def add_all(self, results: Mapping[str, Numbers]) -> None:
        """Write numbers to disk, which is synced about once a second. Raises StoreError if they cannot be written."""
        if not results:
            return
        lines = b"".join(_record(key, values) for key, values in results.items())
        with storage_errors("numbers from a server", self._folder):
            try:
                try:
                    self._append(lines)
                except FileNotFoundError:  # another process has just dropped the folder
                    self._append(lines)
            except OSError:
                self._name = self._new_name()  # records behind an incomplete one would never be read
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
        """Remove all files of the owner, and the folder if it is empty then."""
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
    """Return the hash of the key and the values. None at the end, and for an incomplete or damaged record."""
    if len(head := file.read(_HEAD.size)) < _HEAD.size:
        return None
    checksum, n_values = _HEAD.unpack(head)
    n_body = _N_KEY + 4 * n_values
    body = file.read(n_body) if n_values <= _MAX_VALUES else b""
    if len(body) < n_body or crc32(body) != checksum:
        return None
    return body[:_N_KEY], np.frombuffer(body, dtype="<f4", offset=_N_KEY)
