"""Downloading of one file: resumed where it broke off, and checked against its size and hash."""

import errno
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from components.errors import DataError
from runner.testset.fetching.hub import Hub, HubFile, InterruptedDownload, Offline, Repository

BLOCK = 1 << 20
_MAX_ATTEMPTS = 5
"""Attempts in a row that bring no byte."""
_WAIT_S = 1.0

Report = Callable[[str], None]


def download(hub: Hub, repo: Repository, path: str, target: Path, report: Report) -> None:
    """Write a file of a repository to `target`. Continues where an interrupted download ended.

    Raises DataError if the content is not the expected one, after deleting it. Raises Offline if the hub cannot be
    reached or the connection breaks off repeatedly. The part received so far remains, so that a later call continues.
    """
    expected = repo.files[path]
    n_failures = 0
    while (n_before := _size(target)) < expected.n_bytes or not target.exists():
        try:
            _continue(hub, repo, path, target, n_before)
            reason = "the connection ended early"
        except InterruptedDownload as error:
            reason = str(error)
        n_now = _size(target)
        if n_now >= expected.n_bytes:
            break
        n_failures = 0 if n_now > n_before else n_failures + 1
        if n_failures == _MAX_ATTEMPTS:
            raise Offline(
                f"{path} of {repo.name}: the download stopped {_MAX_ATTEMPTS} times at byte {n_now:,} ({reason})"
            )
        report(f"{path}: the download stopped at byte {n_now:,} of {expected.n_bytes:,} ({reason}); resuming")
        time.sleep(_WAIT_S * 2**n_failures)
    if wrong := difference(target, expected):
        target.unlink()
        raise DataError(f"{path} of {repo.name}: {wrong}. The file was deleted. Fetch it again.")


def difference(file: Path, expected: HubFile) -> str:
    """Describe how a file differs from the expected one; "" if it does not."""
    n_bytes = _size(file)
    if n_bytes != expected.n_bytes:
        return f"has {n_bytes:,} bytes, expected {expected.n_bytes:,}"
    if expected.sha256 and (checksum := hash_file(file)) != expected.sha256:
        return f"is corrupted: its SHA-256 is {checksum}, expected {expected.sha256}"
    if expected.git_sha1 and (checksum := _hash_git_blob(file)) != expected.git_sha1:
        return f"is corrupted: its git hash is {checksum}, expected {expected.git_sha1}"
    return ""


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with file_errors(file), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system within the block into DataError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(
                f"{path}: no space left on the device. Free some, or choose another folder with RAG_GRID_DATA, "
                "and fetch again: the download resumes."
            ) from error
        raise DataError(
            f"{path}: cannot be used ({error.strerror or error}). Choose a folder with RAG_GRID_DATA."
        ) from error


def _continue(hub: Hub, repo: Repository, path: str, target: Path, start: int) -> None:
    """Append the bytes of one request, at most one byte more than the expected size."""
    reply, first = hub.open(repo, path, start)
    with reply, file_errors(target), target.open("ab") as stream:
        stream.truncate(first)
        n_missing = repo.files[path].n_bytes + 1 - first
        while n_missing > 0 and (block := _block(reply, min(BLOCK, n_missing))):
            stream.write(block)
            n_missing -= len(block)


def _block(reply: HTTPResponse, n_bytes: int) -> bytes:
    try:
        return reply.read(n_bytes)
    except (OSError, HTTPException) as error:
        raise InterruptedDownload(str(error) or type(error).__name__) from None


def _size(file: Path) -> int:
    with file_errors(file):
        return file.stat().st_size if file.exists() else 0


def _hash_git_blob(file: Path) -> str:
    digest = hashlib.sha1(f"blob {_size(file)}\0".encode(), usedforsecurity=False)
    with file_errors(file), file.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
