"""Numbers that came from a server for a stage that is not kept yet: see `components.openai_server.received`.

    <folder>/<process>.received   records of one process, each written when it arrived

A record holds a checksum, the number of values, the hash of its key, and the values. One that is cut off or damaged
ends what is read of its file: what stood behind it is asked for again.
"""

import os
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
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


class ReceivedNumbers:
    """What is kept in the workspace of a stage. It goes with the workspace when the stage's result is kept."""

    def __init__(self, folder: Path) -> None:
        """The folder is made when the first results come."""
        self._folder = folder
        self._name = self._new_name()
        self._synced = time.monotonic()

    def get_all(self, keys: Collection[str]) -> dict[str, Numbers]:
        """Those of the keys that are kept, by any process."""
        paths = sorted(self._folder.glob(f"*{_SUFFIX}"))
        if not paths:
            return {}
        wanted = {_hash(key): key for key in keys}
        found: dict[str, Numbers] = {}
        for path in paths:
            try:
                with path.open("rb") as file:
                    found |= {wanted[key]: values for key, values in _records(file) if key in wanted}
            except FileNotFoundError:  # another process has dropped it
                continue
        return found

    def add_all(self, results: Mapping[str, Numbers]) -> None:
        """Writes results down. The disk is synced about once a second. Raises StoreError."""
        if not results:
            return
        lines = b"".join(_record(key, values) for key, values in results.items())
        with keeping("a result of a server", self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                with (self._folder / self._name).open("ab") as file:
                    file.write(lines)
                    file.flush()
                    if time.monotonic() - self._synced > _SYNC_EVERY_S:
                        os.fsync(file.fileno())
                        self._synced = time.monotonic()
            except OSError:
                self._name = self._new_name()  # nothing behind half a record would be read
                raise

    def drop(self) -> None:
        """Removes all that is kept."""
        for path in self._folder.glob(f"*{_SUFFIX}"):
            path.unlink(missing_ok=True)

    def _new_name(self) -> str:
        return f"{uuid.uuid4().hex}{_SUFFIX}"


def _hash(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


def _record(key: str, values: Numbers) -> bytes:
    body = _hash(key) + np.ascontiguousarray(values, dtype="<f4").tobytes()
    return _HEAD.pack(crc32(body), len(values)) + body


def _records(file: BinaryIO) -> Iterator[tuple[bytes, Numbers]]:
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        checksum, n_values = _HEAD.unpack(head)
        n_body = _N_KEY + 4 * n_values
        body = file.read(n_body) if n_values <= _MOST_VALUES else b""
        if len(body) < n_body or crc32(body) != checksum:
            return
        yield body[:_N_KEY], np.frombuffer(body, dtype="<f4", offset=_N_KEY)
