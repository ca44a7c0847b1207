"""Protocols of a remote store, for which a local folder is the cache, and of the mirrors of its subfolders."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from runner.engine.store.held_locks import HeldLock
from runner.engine.store.manifests import Files


class Mirror(Protocol):
    """Synchronization of one folder. All methods may raise StoreError."""

    def download(self) -> None:
        """Download files that others sent. Files of the last few seconds may be missing."""

    def send(self) -> None:
        """Schedule the upload of new files. They are sent within a few seconds."""

    def send_now(self) -> None:
        """Upload all new files and return when all are sent."""


class NoMirror:
    """Mirror that does nothing, for a folder that all processes share."""

    def download(self) -> None: ...

    def send(self) -> None: ...

    def send_now(self) -> None: ...


NO_MIRROR = NoMirror()


class Remote(Protocol):
    """A remote store with a folder as its cache. All methods may raise StoreError.

    A result is identified by its kind and the `name` of its folder. The name is the key, or for a partial result the
    key and the run.
    """

    def holds(self, kind: str, name: str) -> bool:
        """Return True if the remote has such a result. Lists all results on the first call, which suits plans."""

    def results(self, kind: str) -> Iterable[tuple[str, str]]:
        """Return (kind, key) of all results, or of the results of one kind unless `kind` is ""."""

    def is_current(self, folder: Path) -> bool:
        """Return True if a result's folder still agrees with the remote, as far as known without a request."""

    def fetch(self, kind: str, name: str, folder: Path) -> bool:
        """Download a result's manifest and small files into a new folder. False if the remote has no intact result."""

    def is_elsewhere(self, files: Files, file: str) -> bool:
        """Return True if a file that is missing from its result's folder is downloaded when it is read."""

    def download(self, folder: Path, files: Files, file: str) -> bool:
        """Download a file into its result's folder. False if that is impossible. Raises OSError if the disk refuses."""

    def publish(self, kind: str, name: str, folder: Path) -> bool:
        """Upload the result in a folder. False if another process was first; its result is kept."""

    def mark_damaged(self, folder: Path) -> None:
        """Mark a result as damaged: the next published one replaces it, unless it was replaced before."""

    def lock(self, key: str, what: str, *, is_paid: bool = False) -> AbstractContextManager[HeldLock]:
        """Hold a lock while a result is computed.

        Logs a warning if it has to wait, with `what` the other process is doing. If the work `is_paid`, each holder
        sees everything that earlier holders have stored.
        """

    def lease(self, run_id: str, keys: Sequence[str] | None) -> None:
        """Write the lease of a run on these results, or on all if `keys` is None."""

    def release(self, run_id: str) -> None:
        """Remove the lease of a run if the remote is available. Otherwise it ends with this process."""

    def reply_mirror(self, folder: Path) -> Mirror:
        """Return the mirror of a folder of replies."""

    def pair_score_mirror(self, folder: Path) -> Mirror:
        """Return the mirror of a folder of scores."""


class NoRemote:
    """Remote of a folder that all processes share: it has no further results."""

    def holds(self, kind: str, name: str) -> bool:
        return False

    def results(self, kind: str) -> Iterable[tuple[str, str]]:
        return ()

    def is_current(self, folder: Path) -> bool:
        return True

    def fetch(self, kind: str, name: str, folder: Path) -> bool:
        return False

    def is_elsewhere(self, files: Files, file: str) -> bool:
        return False

    def download(self, folder: Path, files: Files, file: str) -> bool:
        return False

    def publish(self, kind: str, name: str, folder: Path) -> bool:
        return True

    def mark_damaged(self, folder: Path) -> None: ...

    def lock(self, key: str, what: str, *, is_paid: bool = False) -> AbstractContextManager[HeldLock]:
        return nullcontext(HeldLock(had_holder=False))

    def lease(self, run_id: str, keys: Sequence[str] | None) -> None: ...

    def release(self, run_id: str) -> None: ...

    def reply_mirror(self, folder: Path) -> Mirror:
        return NO_MIRROR

    def pair_score_mirror(self, folder: Path) -> Mirror:
        return NO_MIRROR

    def __reduce__(self) -> str:
        """Pickle a reference to the only instance."""
        return "NO_REMOTE"


NO_REMOTE = NoRemote()
