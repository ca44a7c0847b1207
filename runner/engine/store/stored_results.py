"""The store: writing, finding, locking and listing of results."""

import errno
import json
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from components.errors import StoreError
from components.json_value import Json
from runner.console.written_files import sync
from runner.engine.file_operations import link_or_copy
from runner.engine.store.claims import Claims
from runner.engine.store.held_locks import HeldLock
from runner.engine.store.key_locks import abandoned_locks, hold_key_lock
from runner.engine.store.leases import Leases
from runner.engine.store.links import refuse_folder_links, refuse_links
from runner.engine.store.manifests import MANIFEST, Manifest, Manifests, write_manifest
from runner.engine.store.pair_scores import PairScores
from runner.engine.store.part_files import Part, checksum, file_name, mapped_file, storage_errors, write_part
from runner.engine.store.received_numbers import ReceivedNumbers
from runner.engine.store.regular_files import read_small
from runner.engine.store.remote import NO_REMOTE, Remote
from runner.engine.store.replies import Replies
from runner.engine.store.stored_result import StoredResult
from runner.engine.store.unfinished_exports import UnfinishedExports
from runner.engine.store.writers import Writers

FORMAT = 3
_OCCUPIED = frozenset({errno.ENOTEMPTY, errno.EEXIST})
"""Errors of a rename to the path of an existing folder."""
_MAX_DESCRIPTION_BYTES = 1 << 16
"""Bytes of `store.json`."""
_NAME = re.compile(r"[\w-]+")
_HALF_WRITTEN = re.compile(r"\.[0-9a-f]{32}(\.|$)")


def check_format(store_format: int, location: object) -> None:
    """Raise StoreError if this version cannot read the format of the store described at `location`."""
    if store_format != FORMAT:
        raise StoreError(
            f"{location}: the store has format {store_format}, this version reads format {FORMAT}. "
            f"{'Upgrade rag-grid, or choose' if store_format > FORMAT else 'Choose'} another run.store_dir."
        )


class Store:
    """A store in a folder. The constructor checks that the folder is writable and that this version can read its
    format.
    """

    def __init__(self, root: Path, run_id: str = "", remote: Remote = NO_REMOTE, *, may_write: bool = True) -> None:
        """`run_id` is the run that writes; "" for a reader. With a `remote`, the folder is a cache of it.

        Without `may_write`, the folder must be a store and stays unchanged, for example because it belongs to another
        user. Raises StoreError if the folder cannot be written, has another format, or contains a symbolic link in
        place of a folder.
        """
        self.root = root
        self.run_id = run_id
        self._remote = remote
        self.writers = Writers(root / "writers", may_write=may_write)
        self._entries: dict[tuple[str, str], StoredResult] = {}
        self._partial: set[tuple[str, str]] = set()
        self._manifests = Manifests()
        self._replies: dict[str, Replies] = {}
        self._received: dict[tuple[str, str], ReceivedNumbers] = {}
        if not may_write:
            self._check_description()
            return
        try:
            refuse_folder_links(root)
            for name in ("entries", "replies", "pair_scores", "workspaces", "locks", "tmp"):
                (root / name).mkdir(parents=True, exist_ok=True)
            probe = root / "tmp" / f"probe-{uuid.uuid4().hex}"
            probe.write_text("")
            probe.unlink()
            self._check_format()
        except OSError as error:
            raise StoreError(
                f"run.store_dir: cannot write in {root}: {error.strerror or error}. Choose another run.store_dir, or "
                "make this one writable (to read the store of another user, copy it and name the copy)."
            ) from error

    def __reduce__(self) -> tuple[Callable[..., "Store"], tuple[object, ...]]:
        """Pickle the constructor arguments. Results found and read so far stay in this process."""
        return Store, (self.root, self.run_id, self._remote)

    @property
    def is_cache(self) -> bool:
        """True if the folder belongs to this host alone and caches a remote store."""
        return self._remote is not NO_REMOTE

    def _check_format(self) -> None:
        path = self.root / "store.json"
        if not path.exists():
            temporary = self.root / "tmp" / uuid.uuid4().hex
            temporary.write_text(json.dumps({"format": FORMAT}))
            sync(temporary)
            temporary.replace(path)
        self._check_description()

    def _check_description(self) -> None:
        path = self.root / "store.json"
        if path.is_dir():
            raise StoreError(
                f"{path}: is a folder, expected a file that describes the store. Choose another run.store_dir. If "
                f"{self.root} is a store, replace {path} by a file with {json.dumps({'format': FORMAT})}"
            )
        try:
            store_format = int(json.loads(read_small(path, _MAX_DESCRIPTION_BYTES))["format"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise StoreError(
                f"{path}: is not a store's description. Choose another run.store_dir or, if the folder is a store and "
                f"only this file is damaged, write {json.dumps({'format': FORMAT})} into it."
            ) from error
        check_format(store_format, path)

    def folder(self, kind: str, key: str, *, partial: bool = False) -> Path:
        """Return the folder of a result, whether it exists or not.

        Partial results have separate folders, so that no run replaces a result that another run is using. Raises
        StoreError for a key that would lead out of the store: results of others name keys.
        """
        if not (_NAME.fullmatch(kind) and _NAME.fullmatch(key)):
            raise StoreError(f"{self.root}: got {kind!r}, {key!r:.80} as a result, expected a kind and a key")
        name = f"{key}-{self.run_id}" if partial else key
        return self.root / "entries" / kind / key[:2] / name

    def find(self, kind: str, key: str) -> StoredResult | None:
        """Return the usable result of this key, or the partial result of this run. None if there is neither.

        A manifest is read once per process. Checksums are compared only when a file is read.
        """
        return self.find_complete(kind, key) or self._find_partial(kind, key)

    def find_complete(self, kind: str, key: str) -> StoredResult | None:
        """Return the usable result of this key, but no partial one. None if it does not exist.

        For callers that know that this run has no partial result: on a network, each lookup of a missing path is a
        round trip.
        """
        if (kind, key) not in self._entries:
            entry = self._find_current(self.folder(kind, key))
            if entry is None:
                return None
            self._entries[kind, key] = entry
        return self._entries[kind, key]

    def _find_partial(self, kind: str, key: str) -> StoredResult | None:
        return self._find_current(self.folder(kind, key, partial=True)) if self.run_id else None

    def is_cached(self, kind: str, key: str) -> bool:
        """Return True if a usable result of this key is cached. For plans, which ask for thousands and read few.

        Partial results of this run count only if this process computed them, because planning precedes the work of
        other processes.
        """
        if self._remote.holds(kind, key) or self.find_complete(kind, key):
            return True
        return (kind, key) in self._partial and self._find_partial(kind, key) is not None

    def library_versions(self, kind: str, key: str) -> Mapping[str, str]:
        """Return the versions that a cached result was computed with. Empty for a result that would have to be
        downloaded.
        """
        entry = self._entries.get((kind, key))
        return entry.manifest.made_with if entry else {}

    def was_computed_here(self, kind: str, key: str) -> bool:
        """Return True if this process computed the result of this key, rather than found it."""
        entry = self._entries.get((kind, key))
        return entry is not None and entry.is_new

    def _find_current(self, folder: Path) -> StoredResult | None:
        """Return the current result in a folder, downloaded if necessary. None if it does not exist."""
        entry = self._read_entry(folder)
        if entry and not self._remote.is_current(folder):
            self._remove(folder, entry.manifest)
            entry = None
        return entry or self._fetch(folder)

    def _fetch(self, folder: Path) -> StoredResult | None:
        if not self.is_cache:
            return None
        temporary = self.root / "tmp" / uuid.uuid4().hex
        try:
            with storage_errors("a downloaded result", self.root):
                if not self._remote.fetch(folder.parents[1].name, folder.name, temporary):
                    return None
                manifest = self._manifests.read(temporary, folder)
                if manifest is None:
                    self._remote.mark_damaged(folder)
                    return None
                return self._move_to_store(temporary, StoredResult(folder, manifest, remote=self._remote))
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # does not exist after a successful move

    def find_again(self, kind: str, key: str) -> StoredResult | None:
        """Look for a result again as `find` does, because another process may have replaced it."""
        self._entries.pop((kind, key), None)
        return self.find(kind, key)

    def has_damaged_manifest(self, kind: str, key: str) -> bool:
        """Return True if the manifest of this key was unreadable when it was last read."""
        return self._manifests.is_damaged(self.folder(kind, key))

    def _read_entry(self, folder: Path) -> StoredResult | None:
        """Return the result in a folder. None if the manifest is missing, unreadable, or belongs to another result.

        Such a result will be computed again.
        """
        manifest = self._manifests.read(folder, folder)
        return StoredResult(folder, manifest, remote=self._remote) if manifest else None

    def write(
        self,
        kind: str,
        key: str,
        payload: Mapping[str, Part],
        *,
        seconds: float,
        made_from: Json,
        made_with: Mapping[str, str] | None = None,
        partial: bool = False,
        synced: bool = True,
        hidden: Mapping[str, int] | None = None,
    ) -> StoredResult:
        """Write a result atomically. Returns the result that the store keeps.

        The first complete result of a key stays, no matter which process wrote it. Readers therefore lose no files,
        even if locks fail. A result with an unreadable manifest, or with missing files or files of other sizes, is
        replaced.

        Without `synced`, the operating system decides when to write to disk. A power cut may then damage the result,
        but a kill may not. Checksums detect the damage, and the result is computed again. This suits results that take
        only a moment.

        Raises StoreError if the disk is full or refuses, and TypeError or ValueError for a payload without a file
        format.
        """
        temporary = self._new_temporary()
        try:
            with storage_errors(f"the result of stage '{kind}'", self.root):
                temporary.mkdir()
                files = {}
                for name, value in payload.items():
                    path = temporary / file_name(name, value)
                    self._write_part(path, value)
                    if synced:
                        sync(path)
                    files[path.name] = (checksum(path), path.stat().st_size)
                manifest = Manifest(
                    kind, key, seconds, time.time(), self.run_id, partial, files, made_with or {}, hidden or {}
                )
                path = write_manifest(temporary, manifest, made_from)
                if synced:
                    sync(path)
                folder = self.folder(kind, key, partial=partial)
                entry = self._publish(
                    temporary, StoredResult(folder, manifest, set(files), is_new=True, remote=self._remote)
                )
                if synced and entry.is_new:
                    sync(entry.folder.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # does not exist after a successful move
        if partial:  # another process may have written a complete result at the same time
            self._partial.add((kind, key))
            return self._read_entry(self.folder(kind, key)) or entry
        self._entries[kind, key] = entry
        return entry

    def _write_part(self, path: Path, value: Part) -> None:
        """Write one part. An array that maps a file in this store becomes a hard link to that file."""
        mapped = mapped_file(value)
        if mapped is not None and mapped.resolve().is_relative_to(self.root.resolve()):
            link_or_copy(mapped, path)
        else:
            write_part(path, value)

    def _publish(self, temporary: Path, entry: StoredResult) -> StoredResult:
        """Publish a result. Returns the result that the store keeps: `entry`, or an undamaged result of an earlier
        writer.

        Raises OSError if a file cannot be written.
        """
        while not self._remote.publish(entry.manifest.kind, entry.folder.name, temporary):
            if first := self._fetch(entry.folder):
                return first
        return self._move_to_store(temporary, entry)

    def _move_to_store(self, temporary: Path, entry: StoredResult) -> StoredResult:
        """Move a result to its folder. Returns the result that the store keeps: `entry`, or an undamaged result that
        was already there.

        Raises OSError if the folder cannot be written.
        """
        entry.folder.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                temporary.rename(entry.folder)
            except OSError as error:
                first = self._read_entry(entry.folder)
                if first and not first.damages(contents=False):
                    return entry if first.manifest == entry.manifest else first
                if error.errno not in _OCCUPIED:
                    raise
                self._remove(entry.folder, first.manifest if first else None)
            else:
                return entry

    def _new_temporary(self) -> Path:
        return self.root / "tmp" / f"{self.run_id}-{uuid.uuid4().hex}"

    def discard_temporary(self) -> None:
        """Remove the files of half-written results of this run. Call it only when no worker of the run is active."""
        with suppress(OSError):  # the store was deleted, which was reported before
            for path in (self.root / "tmp").iterdir():
                if self.run_id and path.name.startswith(f"{self.run_id}-"):
                    shutil.rmtree(path, ignore_errors=True)

    def discard(self, entry: StoredResult) -> None:
        """Remove a result atomically: other processes find the complete result or no result.

        A result that another process has written there since then stays.
        """
        self._entries.pop((entry.manifest.kind, entry.manifest.key), None)
        self._remote.mark_damaged(entry.folder)
        self._remove(entry.folder, entry.manifest)

    def _remove(self, folder: Path, manifest: Manifest | None) -> None:
        """Remove the folder if it has this manifest, or no readable manifest if `manifest` is None.

        A folder with another manifest is put back. Raises StoreError if the system refuses to move the folder.
        """
        removed = self._new_temporary()
        try:
            folder.replace(removed)
        except FileNotFoundError:  # another process was faster
            return
        except OSError as error:
            raise StoreError(
                f"{folder}: cannot be removed ({error.strerror or error}). Remove it as the user who made it, or "
                "choose another run.store_dir."
            ) from error
        actual = self._manifests.read(removed, folder)
        if actual and actual != manifest:
            with suppress(OSError):  # unless a third process has written there
                removed.rename(folder)
        shutil.rmtree(removed, ignore_errors=True)

    @contextmanager
    def lock(self, kind: str, key: str, *, from_stopped: bool = True) -> Iterator[HeldLock]:
        """Hold the lock of a key while its result is computed.

        Other processes wait, and then find the result. A dead process loses the lock. So does a stopped process,
        except on this host if `from_stopped` is false.
        """
        path, what = self.root / "locks" / f"{key}.lock", f"computing {kind}"
        # First among the processes of this host, so that only one of them at a time asks the remote.
        with (
            hold_key_lock(path, self.writers, what, from_stopped=from_stopped) as on_host,
            self._remote.lock(key, what, is_paid=not from_stopped) as remote,
        ):
            yield HeldLock(on_host.had_holder or remote.had_holder, lambda: on_host.is_lost() or remote.is_lost())

    def abandoned_locks(self) -> list[Path]:
        """Return the locks of processes that have ended. They block no process and can be removed."""
        return abandoned_locks(self.root / "locks", self.writers)

    def find_half_written(self) -> list[Path]:
        """Return the files next to replies and scores that a process is writing, or that a killed one left.

        They have hidden names until they are complete.
        """
        paths = [path for name in ("replies", "pair_scores") for path in (self.root / name).glob("*/.*")]
        return sorted(path for path in paths if _HALF_WRITTEN.match(path.name) and path.is_file())

    @property
    def leases(self) -> Leases:
        """Leases of running sweeps, this one and others."""
        return Leases(self.root / "runs", self.writers, self._remote)

    @property
    def unfinished_exports(self) -> UnfinishedExports:
        """Exports being written, and those that killed processes left unfinished."""
        return UnfinishedExports(self.root, self.writers)

    @property
    def limits(self) -> Path:
        """Folder with the rate limits: all users of the store record there how many requests servers received."""
        return self.root / "limits"

    def replies(self, key: str) -> Replies:
        """Return all replies of a model for one purpose, by request."""
        if key not in self._replies:
            claims = Claims(self.root / "locks" / f"replies-{key}.lock")
            folder = self.root / "replies" / key
            self._replies[key] = Replies(folder, claims, self.writers, self._remote.reply_mirror(folder))
        return self._replies[key]

    def open_received(self, key: str, owner: str) -> ReceivedNumbers:
        """Return numbers received from a server, which stages share until `owner` drops them."""
        if (key, owner) not in self._received:
            self._received[key, owner] = ReceivedNumbers(self.workspace_path(key), owner)
        return self._received[key, owner]

    def pair_scores(self, key: str) -> PairScores:
        """Return all scores of a reranker for one set of chunks, by query and chunk."""
        folder = self.root / "pair_scores" / key
        return PairScores(folder, self._remote.pair_score_mirror(folder))

    def workspace(self, key: str) -> Path:
        """Return the folder for intermediate results of a long stage, and create it if necessary.

        It is deleted when the result is stored.
        """
        folder = self.workspace_path(key)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def workspace_path(self, key: str) -> Path:
        """Return the path of a stage's workspace, whether it exists or not."""
        return self.root / "workspaces" / key

    def discard_workspace(self, key: str) -> None:
        """Remove a stage's workspace if it exists."""
        shutil.rmtree(self.workspace_path(key), ignore_errors=True)

    def refuse_links(self) -> None:
        """Raise StoreError for a symbolic link in place of a result, a reply or a folder of these.

        Raises OSError if a folder cannot be listed.
        """
        refuse_links(self.root)

    def entries(self, kind: str = "*") -> Iterator[StoredResult]:
        """Yield all results, or the results of one kind. Results with an unreadable manifest are left out."""
        for entry_kind, key in self._remote.results("" if kind == "*" else kind):
            self._find_current(self.folder(entry_kind, key))
        for path in sorted((self.root / "entries").glob(f"{kind}/*/*/{MANIFEST}")):
            if entry := self._read_entry(path.parent):
                yield entry

    def folders_without_manifest(self) -> list[Path]:
        """Return the result folders without a readable manifest."""
        folders = sorted(path for path in (self.root / "entries").glob("*/*/*") if path.is_dir())
        return [folder for folder in folders if self._read_entry(folder) is None and folder.is_dir()]

    def discard_folder(self, folder: Path) -> None:
        """Remove a folder without a readable manifest, unless a result has been written there since."""
        self._remove(folder, None)

    def exists(self, entry: StoredResult) -> bool:
        """Return True if a result still exists after it was found. Other processes may be pruning the store."""
        return self._manifests.read(entry.folder, entry.folder) == entry.manifest
