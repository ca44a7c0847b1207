"""Objects of one bucket below a prefix: conditional writes, reads, listings, deletion, and large objects in pieces.

Temporary failures, such as a restart of the service or a network failure, are retried. obstore retries first, and then
we do, so that Ctrl-C can interrupt between two attempts.
"""

import logging
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

log = logging.getLogger(__name__)

T = TypeVar("T")
K = TypeVar("K")

PATIENCE_S = 90.0
"""Seconds without an answer of the bucket after which the sweep ends."""

_OBSTORE_RETRIES_S = 10.0
_REQUEST_TIMEOUT_S = 30.0
_PAUSE_S = 0.5
_REPORT_EVERY_S = 60.0

_PIECE_BYTES = 8 << 20
_N_CONCURRENT = 6
_N_IN_A_ROW = 16 * _N_CONCURRENT
_MAX_PIECES = 9_000
"""Maximum number of pieces of an upload. S3 accepts 10,000."""

_MAX_DELETED_TOGETHER = 1_000

_SETTINGS = {"s3": "AWS_", "az": "AZURE_STORAGE_"}
"""Beginning of the names of variables that become headers, by the scheme of an address."""
_UNUSABLE = re.compile(r"[\r\n]|\s\Z")
_VARIABLES = {
    "s3": "AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
}
"""Variables with the settings of a bucket, by the scheme of its address."""


@dataclass(frozen=True)
class ObjectInfo:
    """An object in a listing. `modified` is a time of the service's clock."""

    path: str
    n_bytes: int
    tag: str
    modified: datetime


@dataclass(frozen=True)
class Object:
    """A small object: its contents, and a tag that changes with them."""

    contents: bytes
    tag: str
    modified: datetime


class Objects:
    """Objects below one address. All methods raise StoreError if the service refuses, or does not answer for a long
    time.
    """

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        """Sends no request yet. Raises MissingExtraError without obstore, and StoreError for an unusable address or
        environment.
        """
        try:
            from obstore.store import from_url
        except ImportError as error:
            raise MissingExtraError("obstore", "s3", f"run.store_dir={address}") from error
        self.address = address.rstrip("/")
        self.patience_s = patience_s
        self._reported_at = -_REPORT_EVERY_S
        self._require_usable_variables()
        try:
            self._store: ObjectStore = from_url(
                self.address,
                client_options={
                    "allow_http": True,  # the endpoint in the environment decides between http and https
                    "timeout": timedelta(seconds=_REQUEST_TIMEOUT_S),
                },
                retry_config={"retry_timeout": timedelta(seconds=min(_OBSTORE_RETRIES_S, patience_s))},
            )
        except BaseException as error:
            if not isinstance(error, Exception) and not _is_panic(error):
                raise
            raise StoreError(f"run.store_dir: {self.address} cannot be used: {_cause(error)}") from error

    def _require_usable_variables(self) -> None:
        """Raise StoreError for a setting with a line end, which files of Windows leave, and on which obstore panics."""
        prefix = _SETTINGS.get(self.address.partition("://")[0])
        for name in sorted(os.environ):
            if prefix and name.startswith(prefix) and _UNUSABLE.search(os.environ[name]):
                what = f"the variable {name} ends with a line break or a space. Set it again without that"
                raise StoreError(f"run.store_dir: {self.address} cannot be used: {what}")

    def create(self, path: str, contents: bytes) -> str | None:
        """Create an object and return its tag. None if it already exists. If several processes try, one succeeds.

        If the response to a successful write is lost, the object counts as already existing. Compare contents where
        that matters.
        """
        from obstore.exceptions import AlreadyExistsError

        try:
            return self._write(path, lambda: _tag(self._store.put(path, contents, mode="create")))
        except AlreadyExistsError:
            return None

    def replace(self, path: str, contents: bytes, tag: str) -> str | None:
        """Replace the object that has this tag, and return the new tag. None if it has changed or was deleted."""
        from obstore.exceptions import PreconditionError

        try:
            return self._retry(f"write {path}", lambda: _tag(self._store.put(path, contents, mode=_version(tag))))
        except (PreconditionError, FileNotFoundError):
            return None

    def put(self, path: str, contents: bytes) -> str:
        """Write an object unconditionally, for objects that only one process writes."""
        return self._write(path, lambda: _tag(self._store.put(path, contents)))

    def get(self, path: str) -> Object | None:
        """Return a small object. None if it does not exist."""

        def read() -> Object:
            response = self._store.get(path)
            return Object(bytes(response.bytes()), _tag(response.meta), response.meta["last_modified"])

        try:
            return self._retry(f"read {path}", read)
        except FileNotFoundError:
            return None

    def get_range(self, path: str, start: int, end: int) -> bytes | None:
        """Return the bytes [start, end) of an object, fewer if it ends before. None if it does not exist."""
        from obstore.exceptions import GenericError

        def read() -> bytes:
            try:
                return bytes(self._store.get_range(path, start=start, end=end))
            except GenericError:
                if self._store.head(path)["size"] <= start:  # services reject ranges past the end
                    return b""
                raise

        try:
            return self._retry(f"read {path}", read)
        except FileNotFoundError:
            return None

    def head(self, path: str) -> ObjectInfo | None:
        """Return one object as a listing shows it. None if it does not exist."""
        try:
            meta = self._retry(f"look for {path}", lambda: self._store.head(path))
        except FileNotFoundError:
            return None
        return ObjectInfo(path, meta["size"], _tag(meta), meta["last_modified"])

    def list_objects(self, prefix: str) -> list[ObjectInfo]:
        """Return all objects in a folder and its subfolders, with one request per thousand."""
        return self._retry(
            f"list {prefix}",
            lambda: [
                ObjectInfo(meta["path"], meta["size"], _tag(meta), meta["last_modified"])
                for page in self._store.list(prefix, chunk_size=1000)
                for meta in page
            ],
        )

    def delete(self, paths: Sequence[str]) -> None:
        """Delete objects. Missing ones are not an error."""
        for start in range(0, len(paths), _MAX_DELETED_TOGETHER):
            paths_together = list(paths[start : start + _MAX_DELETED_TOGETHER])
            try:
                self._retry(f"remove {paths_together[0]}", partial(self._store.delete, paths_together))
            except FileNotFoundError:
                self._delete_each(paths_together)

    def _delete_each(self, paths: Iterable[str]) -> None:
        """Delete objects one by one, for services that refuse to delete missing ones."""
        for path in paths:
            try:
                self._retry(f"remove {path}", partial(self._store.delete, path))
            except FileNotFoundError:
                continue

    def upload(self, path: str, file: Path) -> None:
        """Write a file in concurrent pieces. The whole file is never in memory."""
        piece = max(_PIECE_BYTES, file.stat().st_size // _MAX_PIECES + 1)
        self._write(
            path,
            lambda: self._store.put(
                path, file, mode="overwrite", use_multipart=True, chunk_size=piece, max_concurrency=_N_CONCURRENT
            ),
        )

    def download(self, path: str, n_bytes: int, file: Path) -> bool:
        """Read an object of `n_bytes` into a file in concurrent pieces. Returns False if it is missing or shorter.

        Raises OSError if the disk refuses.
        """
        pieces = ((start, min(start + _PIECE_BYTES, n_bytes)) for start in range(0, n_bytes, _PIECE_BYTES))
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:

            def download_piece(piece: tuple[int, int]) -> bool:
                contents = self.get_range(path, *piece)
                if contents is None or len(contents) != piece[1] - piece[0]:
                    return False
                return os.pwrite(descriptor, contents, piece[0]) == len(contents)

            with ThreadPoolExecutor(_N_CONCURRENT) as pool:
                # A few at a time, because the reported size may be wrong.
                while pieces_in_a_row := list(islice(pieces, _N_IN_A_ROW)):
                    if not all(pool.map(download_piece, pieces_in_a_row)):
                        return False
            return True
        finally:
            os.close(descriptor)

    def pieces(self, path: str, n_bytes: int) -> Iterator[bytes]:
        """Yield the pieces of an object of `n_bytes` one by one, and stop where it ends."""
        for start in range(0, n_bytes, _PIECE_BYTES):
            piece = self.get_range(path, start, min(start + _PIECE_BYTES, n_bytes)) or b""
            yield piece
            if len(piece) < min(_PIECE_BYTES, n_bytes - start):
                return

    def read_concurrently(self, read: Callable[[K], T], items: Iterable[K]) -> Iterator[T]:
        """Yield the results of `read` for many items, in their order. Several are read concurrently."""
        with ThreadPoolExecutor(_N_CONCURRENT) as pool:
            yield from pool.map(read, items)

    def _write(self, path: str, do: Callable[[], T]) -> T:
        """Run a write request. If the service reports "not found", the bucket does not exist."""
        try:
            return self._retry(f"write {path}", do)
        except FileNotFoundError as error:
            bucket = "/".join(self.address.split("/")[:3])
            raise StoreError(f"{self.address}: there is no bucket {bucket}. Create it, or correct the name.") from error

    def _retry(self, what: str, do: Callable[[], T]) -> T:
        from obstore.exceptions import BaseError, GenericError, JoinError

        began = time.monotonic()
        while True:
            try:
                return do()
            except (GenericError, JoinError) as error:
                if time.monotonic() - began > self.patience_s:
                    raise self._access_error(what, error) from error
                self._report_wait(what, error)
                time.sleep(_PAUSE_S)
            except BaseError as error:
                if type(error).__name__ in ("AlreadyExistsError", "PreconditionError"):
                    raise
                raise self._access_error(what, error) from error
            except BaseException as error:
                if not _is_panic(error):
                    raise
                raise self._access_error(what, error) from error

    def _report_wait(self, what: str, error: Exception) -> None:
        """Log that the bucket does not answer, once a minute."""
        now = time.monotonic()
        if now - self._reported_at >= _REPORT_EVERY_S:
            self._reported_at = now
            log.warning(
                "%s: cannot %s, trying again for up to %.0f s: %s", self.address, what, self.patience_s, _cause(error)
            )

    def _access_error(self, what: str, error: BaseException) -> StoreError:
        lacks_key = self.address.startswith("s3://") and "AWS_ACCESS_KEY_ID" not in os.environ
        scheme = self.address.partition("://")[0]
        variables = _VARIABLES.get(scheme, _VARIABLES["s3"])
        hint = "AWS_ACCESS_KEY_ID is not set" if lacks_key else f"{variables}, ..."
        return StoreError(
            f"{self.address}: cannot {what}: {_cause(error)}. Make sure that the bucket can be reached and "
            f"written with the settings in the environment ({hint}), then run the same command again: finished "
            "work is cached."
        )


def _tag(meta: "PutResult | ObjectMeta") -> str:
    """Return one string that identifies a version of an object: its e-tag, and the version number if the service has
    one.
    """
    return "\n".join(filter(None, [meta["e_tag"], meta["version"]]))


def _version(tag: str) -> "UpdateVersion":
    tag, _, version = tag.partition("\n")
    return {"e_tag": tag, "version": version} if version else {"e_tag": tag}


def _is_panic(error: BaseException) -> bool:
    """Return True for a panic of obstore's Rust code, e.g. over an address that it cannot parse."""
    return type(error).__name__ == "PanicException"


def _cause(error: BaseException) -> str:
    """Return the first line of an error, without URL queries, which may contain signatures."""
    first = str(error).strip().split("\n")[0].strip()
    return re.sub(r"\?[^\s)]*", "?...", first).rstrip(".")
