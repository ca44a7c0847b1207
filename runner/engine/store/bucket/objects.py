"""The objects of one bucket below a prefix: put if absent, put if unchanged, get, list, delete; large ones in pieces.

Whatever the service refuses for a while (it is restarted, the network is gone) is tried again with growing pauses, by
obstore and then by us, whom Ctrl-C reaches between two tries.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from components.errors import MissingExtraError, StoreError

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult, UpdateVersion
    from obstore.store import ObjectStore

T = TypeVar("T")
K = TypeVar("K")

PATIENCE_S = 90.0
"""A bucket that does not answer for longer ends the sweep."""

_OBSTORE_RETRIES_S = 10.0
_REQUEST_TIMEOUT_S = 30.0
_PAUSE_S = 0.5

_PIECE = 8 << 20
_N_AT_ONCE = 6
_N_IN_A_ROW = 16 * _N_AT_ONCE
_MOST_PIECES = 9_000
"""S3 takes 10,000 parts of an upload."""

_DELETED_AT_ONCE = 1_000


@dataclass(frozen=True)
class Listed:
    """What a listing tells of an object. `modified` is by the service's clock."""

    path: str
    n_bytes: int
    tag: str
    modified: datetime


@dataclass(frozen=True)
class Object:
    """A small object's contents, and the tag that changes with them."""

    contents: bytes
    tag: str
    modified: datetime


class Objects:
    """Those below one address. All methods raise StoreError if the service refuses, or does not answer for long."""

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        """Asks nothing yet. Raises MissingExtraError without obstore, and StoreError for an address or an environment
        that it cannot use.
        """
        try:
            from obstore.store import from_url
        except ImportError as error:
            raise MissingExtraError("obstore", "s3", f"run.store_dir={address}") from error
        self.address = address.rstrip("/")
        self.patience_s = patience_s
        try:
            self._store: ObjectStore = from_url(
                self.address,
                client_options={
                    "allow_http": True,  # whether it is http is said by the endpoint in the environment
                    "timeout": timedelta(seconds=_REQUEST_TIMEOUT_S),
                },
                retry_config={"retry_timeout": timedelta(seconds=min(_OBSTORE_RETRIES_S, patience_s))},
            )
        except Exception as error:
            raise StoreError(f"run.store_dir: {self.address} cannot be used: {_cause(error)}") from error

    def create(self, path: str, contents: bytes) -> str | None:
        """Puts an object where there is none, and returns its tag; None if there is one. Of several who try one wins.
        What was put, but whose answer was lost, counts as there already: compare the contents where that matters.
        """
        from obstore.exceptions import AlreadyExistsError

        try:
            return self._written(path, lambda: _tag(self._store.put(path, contents, mode="create")))
        except AlreadyExistsError:
            return None

    def replace(self, path: str, contents: bytes, tag: str) -> str | None:
        """Puts an object in the place of the one with that tag, and returns the new tag; None if it is another one by
        now, or gone.
        """
        from obstore.exceptions import PreconditionError

        try:
            return self._tried(f"write {path}", lambda: _tag(self._store.put(path, contents, mode=_version(tag))))
        except (PreconditionError, FileNotFoundError):
            return None

    def put(self, path: str, contents: bytes) -> str:
        """Puts an object, whatever is there: for those that one process alone writes."""
        return self._written(path, lambda: _tag(self._store.put(path, contents)))

    def get(self, path: str) -> Object | None:
        """A small object; None if there is none."""

        def read() -> Object:
            got = self._store.get(path)
            return Object(bytes(got.bytes()), _tag(got.meta), got.meta["last_modified"])

        try:
            return self._tried(f"read {path}", read)
        except FileNotFoundError:
            return None

    def get_range(self, path: str, start: int, end: int) -> bytes | None:
        """The bytes [start, end) of an object, fewer if it ends before; None if there is none."""
        from obstore.exceptions import GenericError

        def read() -> bytes:
            try:
                return bytes(self._store.get_range(path, start=start, end=end))
            except GenericError:
                if self._store.head(path)["size"] <= start:  # services refuse to read there
                    return b""
                raise

        try:
            return self._tried(f"read {path}", read)
        except FileNotFoundError:
            return None

    def head(self, path: str) -> Listed | None:
        """What a listing would tell of one object; None if there is none."""
        try:
            meta = self._tried(f"look for {path}", lambda: self._store.head(path))
        except FileNotFoundError:
            return None
        return Listed(path, meta["size"], _tag(meta), meta["last_modified"])

    def listed(self, prefix: str) -> list[Listed]:
        """All objects in a folder and those below it: a request per thousand."""
        return self._tried(
            f"list {prefix}",
            lambda: [
                Listed(meta["path"], meta["size"], _tag(meta), meta["last_modified"])
                for page in self._store.list(prefix, chunk_size=1000)
                for meta in page
            ],
        )

    def delete(self, paths: Sequence[str]) -> None:
        """Removes objects; those that are gone already are no mistake."""
        for start in range(0, len(paths), _DELETED_AT_ONCE):
            some = list(paths[start : start + _DELETED_AT_ONCE])
            try:
                self._tried(f"remove {some[0]}", partial(self._store.delete, some))
            except FileNotFoundError:
                self._delete_each(some)

    def _delete_each(self, paths: Iterable[str]) -> None:
        """For services that refuse to remove what is not there."""
        for path in paths:
            try:
                self._tried(f"remove {path}", partial(self._store.delete, path))
            except FileNotFoundError:
                continue

    def upload(self, path: str, file: Path) -> None:
        """Puts a file, in pieces at once: it is never whole in memory."""
        piece = max(_PIECE, file.stat().st_size // _MOST_PIECES + 1)
        self._written(
            path,
            lambda: self._store.put(
                path, file, mode="overwrite", use_multipart=True, chunk_size=piece, max_concurrency=_N_AT_ONCE
            ),
        )

    def download(self, path: str, n_bytes: int, file: Path) -> bool:
        """Gets an object of that size into a file, in pieces at once; False if there is none of it, or less than that.
        Raises OSError if the disk refuses.
        """
        pieces = ((start, min(start + _PIECE, n_bytes)) for start in range(0, n_bytes, _PIECE))
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:

            def bring(piece: tuple[int, int]) -> bool:
                contents = self.get_range(path, *piece)
                if contents is None or len(contents) != piece[1] - piece[0]:
                    return False
                return os.pwrite(descriptor, contents, piece[0]) == len(contents)

            with ThreadPoolExecutor(_N_AT_ONCE) as pool:
                # Some at a time: an object is not believed to be as large as is said.
                while some := list(islice(pieces, _N_IN_A_ROW)):
                    if not all(pool.map(bring, some)):
                        return False
            return True
        finally:
            os.close(descriptor)

    def pieces(self, path: str, n_bytes: int) -> Iterator[bytes]:
        """Those of an object of that size, one after another, up to where it ends."""
        for start in range(0, n_bytes, _PIECE):
            piece = self.get_range(path, start, min(start + _PIECE, n_bytes)) or b""
            yield piece
            if len(piece) < min(_PIECE, n_bytes - start):
                return

    def at_once(self, read: Callable[[K], T], wanted: Iterable[K]) -> Iterator[T]:
        """What is read of many, several at a time, in their order."""
        with ThreadPoolExecutor(_N_AT_ONCE) as pool:
            yield from pool.map(read, wanted)

    def _written(self, path: str, do: Callable[[], T]) -> T:
        """Where a folder need not be there before a file, what is not found is the bucket."""
        try:
            return self._tried(f"write {path}", do)
        except FileNotFoundError as error:
            bucket = "/".join(self.address.split("/")[:3])
            raise StoreError(f"{self.address}: there is no bucket {bucket}; make it, or mend the name") from error

    def _tried(self, what: str, do: Callable[[], T]) -> T:
        from obstore.exceptions import BaseError, GenericError, JoinError

        began = time.monotonic()
        while True:
            try:
                return do()
            except (GenericError, JoinError) as error:
                if time.monotonic() - began > self.patience_s:
                    raise self._refused(what, error) from error
                time.sleep(_PAUSE_S)
            except BaseError as error:
                if type(error).__name__ in ("AlreadyExistsError", "PreconditionError"):
                    raise
                raise self._refused(what, error) from error

    def _refused(self, what: str, error: Exception) -> StoreError:
        lacks_key = self.address.startswith("s3://") and "AWS_ACCESS_KEY_ID" not in os.environ
        said = "AWS_ACCESS_KEY_ID is not set" if lacks_key else "AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ..."
        return StoreError(
            f"{self.address}: cannot {what}: {_cause(error)}. See that the bucket can be reached and written with what "
            f"the environment says ({said}), then give the same command again: finished stages are kept"
        )


def _tag(meta: "PutResult | ObjectMeta") -> str:
    """One text of what tells an object from the one before: some services number them besides."""
    return "\n".join(filter(None, [meta["e_tag"], meta["version"]]))


def _version(tag: str) -> "UpdateVersion":
    tag, _, version = tag.partition("\n")
    return {"e_tag": tag, "version": version} if version else {"e_tag": tag}


def _cause(error: Exception) -> str:
    """The first line, without queries, which may hold signatures."""
    first = str(error).strip().split("\n")[0].strip()
    return re.sub(r"\?[^\s)]*", "?...", first).rstrip(".")
