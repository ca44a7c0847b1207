"""Writing, finding, locking and listing the results of a store."""

import errno
import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from components.errors import StoreError
from components.json_value import Json
from runner.console.written_files import sync
from runner.engine.linking import link_or_copy
from runner.engine.store.claims import Claims
from runner.engine.store.half_exports import HalfExports
from runner.engine.store.key_locks import leased, left_locks
from runner.engine.store.leases import Leases
from runner.engine.store.links import refuse_links, refuse_links_of_folders
from runner.engine.store.manifests import MANIFEST, Manifest, Manifests, write_manifest
from runner.engine.store.pair_scores import PairScores
from runner.engine.store.part_files import Part, checksum, file_name, keeping, mapped_file, write_part
from runner.engine.store.received_numbers import ReceivedNumbers
from runner.engine.store.remote import NO_REMOTE, Remote
from runner.engine.store.replies import Replies
from runner.engine.store.stored_result import StoredResult
from runner.engine.store.writers import Writers

FORMAT = 3
_IN_THE_WAY = frozenset({errno.ENOTEMPTY, errno.EEXIST})
"""What systems say of a rename to where a folder is."""


def check_format(found: int, place: object) -> None:
    """Raises StoreError for a format that this version does not read, of the store that is described at `place`."""
    if found != FORMAT:
        raise StoreError(
            f"{place}: the store has format {found}, this version reads format {FORMAT}. "
            f"{'Upgrade rag-grid, or choose' if found > FORMAT else 'Choose'} another run.store_dir"
        )


class Store:
    """A store in a folder. Making one checks that the folder can be written and is of a format that is understood."""

    def __init__(self, root: Path, run_id: str = "", remote: Remote = NO_REMOTE, *, may_write: bool = True) -> None:
        """`run_id` is the run that writes; "" for a reader. With a `remote` the folder is a cache of what is there.
        Without `may_write` nothing in the folder changes, which may be another user's; it must be a store.

        Raises StoreError, also for a symbolic link in place of a folder.
        """
        self.root = root
        self.run_id = run_id
        self._remote = remote
        self.writers = Writers(root / "writers", may_write=may_write)
        self._found: dict[tuple[str, str], StoredResult] = {}
        self._partial: set[tuple[str, str]] = set()
        self._manifests = Manifests()
        self._replies: dict[str, Replies] = {}
        self._received: dict[tuple[str, str], ReceivedNumbers] = {}
        if not may_write:
            self._check_description()
            return
        try:
            refuse_links_of_folders(root)
            for name in ("entries", "replies", "pair_scores", "workspaces", "locks", "tmp"):
                (root / name).mkdir(parents=True, exist_ok=True)
            probe = root / "tmp" / f"probe-{uuid.uuid4().hex}"
            probe.write_text("")
            probe.unlink()
            self._check_format()
        except OSError as error:
            raise StoreError(
                f"run.store_dir: cannot write in {root}: {error.strerror or error}; choose another run.store_dir, or "
                "make this one writable (to read the store of another user, copy it and name the copy)"
            ) from error

    def __reduce__(self) -> tuple[Callable[..., "Store"], tuple[object, ...]]:
        """As what it was opened with: what was found and read stays in this process."""
        return Store, (self.root, self.run_id, self._remote)

    @property
    def is_cache(self) -> bool:
        """Whether the folder is of this host alone, and what it holds is read from elsewhere."""
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
                f"{path}: a folder, expected a store's description; choose another run.store_dir or, if {self.root} is "
                f"a store, replace {path} by a file with {json.dumps({'format': FORMAT})}"
            )
        try:
            found = int(json.loads(path.read_text())["format"])
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise StoreError(
                f"{path}: not a store's description; choose another run.store_dir or, if the folder is a store of "
                f"which this file alone was damaged, write {json.dumps({'format': FORMAT})} into it"
            ) from error
        check_format(found, path)

    def folder(self, kind: str, key: str, *, partial: bool = False) -> Path:
        """Where a result is or would be; partial ones are apart, so that no run replaces what another is using."""
        name = f"{key}-{self.run_id}" if partial else key
        return self.root / "entries" / kind / key[:2] / name

    def find(self, kind: str, key: str) -> StoredResult | None:
        """The usable result of this key, or the partial one that this run made. A manifest is read once per process;
        checksums are compared only when a file is read.
        """
        return self.find_whole(kind, key) or self._find_partial(kind, key)

    def find_whole(self, kind: str, key: str) -> StoredResult | None:
        """As `find`, for who knows that this run made no partial one: each look for what is not there is a round trip
        where the store is on a network.
        """
        if (kind, key) not in self._found:
            entry = self._current(self.folder(kind, key))
            if entry is None:
                return None
            self._found[kind, key] = entry
        return self._found[kind, key]

    def _find_partial(self, kind: str, key: str) -> StoredResult | None:
        return self._current(self.folder(kind, key, partial=True)) if self.run_id else None

    def is_kept(self, kind: str, key: str) -> bool:
        """Whether there is a usable result of this key: for plans, which ask for thousands and read few of them. Of the
        partial ones of this run those count that this process has made: a plan comes before other processes' work.
        """
        if self._remote.holds(kind, key) or self.find_whole(kind, key):
            return True
        return (kind, key) in self._partial and self._find_partial(kind, key) is not None

    def made_with(self, kind: str, key: str) -> Mapping[str, str]:
        """The versions that a kept result was made with; none of one that would have to be fetched."""
        found = self._found.get((kind, key))
        return found.manifest.made_with if found else {}

    def has_made(self, kind: str, key: str) -> bool:
        """Whether this process has made the result of this key, and not found it."""
        found = self._found.get((kind, key))
        return found is not None and found.is_new

    def _current(self, folder: Path) -> StoredResult | None:
        """The result that belongs in a folder, fetched if it is elsewhere."""
        entry = self._entry(folder)
        if entry and not self._remote.is_current(folder):
            self._take_away(folder, entry.manifest)
            entry = None
        return entry or self._fetched(folder)

    def _fetched(self, folder: Path) -> StoredResult | None:
        if not self.is_cache:
            return None
        temporary = self.root / "tmp" / uuid.uuid4().hex
        try:
            with keeping("a result", self.root):
                if not self._remote.fetch(folder.parents[1].name, folder.name, temporary):
                    return None
                manifest = self._manifests.read(temporary, folder)
                if manifest is None:
                    self._remote.give_up(folder)
                    return None
                return self._move_in(temporary, StoredResult(folder, manifest, remote=self._remote))
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # gone already if it was moved to its place

    def find_again(self, kind: str, key: str) -> StoredResult | None:
        """As `find`, of what is there now: it may have been made anew since this process looked."""
        self._found.pop((kind, key), None)
        return self.find(kind, key)

    def has_damaged_manifest(self, kind: str, key: str) -> bool:
        """True if there was a manifest that could not be read when it was looked for last."""
        return self._manifests.is_damaged(self.folder(kind, key))

    def _entry(self, folder: Path) -> StoredResult | None:
        """None without a manifest; one that cannot be read, or is of another result, counts as none: what belongs here
        will be computed again.
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
    ) -> StoredResult:
        """Writes a result so that it is there whole or not at all. Returns the one that stays: the first whole one of
        its key, whoever wrote it. So readers lose nothing under their hands, whatever locks do. What cannot be whole (a
        manifest that cannot be read, files that are missing or of other sizes) gives way.

        `synced` False leaves it to the system when the disk is written: a power cut (no kill) may then damage the
        result, which is found by its checksums and computed again. For what cost nothing but a moment.

        Raises StoreError if the disk is full or refuses; TypeError or ValueError for a payload that has no file format.
        """
        temporary = self._new_temporary()
        try:
            with keeping(f"the result of stage '{kind}'", self.root):
                temporary.mkdir()
                files = {}
                for name, value in payload.items():
                    path = temporary / file_name(name, value)
                    self._write_part(path, value)
                    if synced:
                        sync(path)
                    files[path.name] = (checksum(path), path.stat().st_size)
                manifest = Manifest(kind, key, seconds, time.time(), self.run_id, partial, files, made_with or {})
                path = write_manifest(temporary, manifest, made_from)
                if synced:
                    sync(path)
                folder = self.folder(kind, key, partial=partial)
                entry = self._keep(
                    temporary, StoredResult(folder, manifest, set(files), is_new=True, remote=self._remote)
                )
                if synced and entry.is_new:
                    sync(entry.folder.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # gone already if it was moved to its place
        if partial:  # another process may have been given a whole one at the same time
            self._partial.add((kind, key))
            return self._entry(self.folder(kind, key)) or entry
        self._found[kind, key] = entry
        return entry

    def _write_part(self, path: Path, value: Part) -> None:
        """An array that is mapped from a file in this store is that file, under a second name."""
        mapped = mapped_file(value)
        if mapped is not None and mapped.resolve().is_relative_to(self.root.resolve()):
            link_or_copy(mapped, path)
        else:
            write_part(path, value)

    def _keep(self, temporary: Path, own: StoredResult) -> StoredResult:
        """The entry that stays: `own`, or the sound one that another writer kept first. Raises OSError."""
        while not self._remote.publish(own.manifest.kind, own.folder.name, temporary):
            if first := self._fetched(own.folder):
                return first
        return self._move_in(temporary, own)

    def _move_in(self, temporary: Path, own: StoredResult) -> StoredResult:
        """The entry that stays: `own`, or the sound one that another writer put there first. Raises OSError."""
        own.folder.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                temporary.rename(own.folder)
            except OSError as error:
                first = self._entry(own.folder)
                if first and not first.damages(contents=False):
                    return own if first.manifest == own.manifest else first
                if error.errno not in _IN_THE_WAY:
                    raise
                self._take_away(own.folder, first.manifest if first else None)
            else:
                return own

    def _new_temporary(self) -> Path:
        return self.root / "tmp" / f"{self.run_id}-{uuid.uuid4().hex}"

    def discard_temporary(self) -> None:
        """Removes what killed workers of this run have left half-written. For when none of them is under way."""
        with suppress(OSError):  # of a store that went away, which is known by now
            for path in (self.root / "tmp").iterdir():
                if self.run_id and path.name.startswith(f"{self.run_id}-"):
                    shutil.rmtree(path, ignore_errors=True)

    def discard(self, entry: StoredResult) -> None:
        """Removes a result, in one step: another process finds all of it or nothing. One that was made again in the
        meantime stays.
        """
        self._found.pop((entry.manifest.kind, entry.manifest.key), None)
        self._remote.give_up(entry.folder)
        self._take_away(entry.folder, entry.manifest)

    def _take_away(self, folder: Path, manifest: Manifest | None) -> None:
        """Removes a folder that has this manifest, or (None) no readable one. Another gets its place back. Raises
        StoreError.
        """
        removed = self._new_temporary()
        try:
            folder.replace(removed)
        except FileNotFoundError:  # another process was faster
            return
        except OSError as error:
            raise StoreError(
                f"{folder}: cannot be removed: {error.strerror or error}. Remove it as the user who made it, or choose "
                "another run.store_dir"
            ) from error
        found = self._manifests.read(removed, folder)
        if found and found != manifest:
            with suppress(OSError):  # unless a third one has taken it
                removed.rename(folder)
        shutil.rmtree(removed, ignore_errors=True)

    @contextmanager
    def lock(self, kind: str, key: str, *, from_stopped: bool = True) -> Iterator[bool]:
        """Held while a result is computed: others wait, then find it. Who dies loses it, and so does who is stopped,
        but on this host without `from_stopped`. The value says whether another held it before.
        """
        path, what = self.root / "locks" / f"{key}.lock", f"making {kind}"
        # Among the processes of this host first: one of them at a time asks elsewhere.
        with (
            leased(path, self.writers, what, from_stopped=from_stopped) as had_holder,
            self._remote.lock(key, what) as had_holder_elsewhere,
        ):
            yield had_holder or had_holder_elsewhere

    def left_locks(self) -> list[Path]:
        """Those of processes that have ended. They bar nobody, and may go."""
        return left_locks(self.root / "locks", self.writers)

    @property
    def leases(self) -> Leases:
        """What the runs that are under way need, this one and others."""
        return Leases(self.root / "runs", self.writers, self._remote)

    @property
    def half_exports(self) -> HalfExports:
        """Exported folders that are being written, and those that killed processes left."""
        return HalfExports(self.root, self.writers)

    @property
    def limits(self) -> Path:
        """Where all who share the store find how much servers were asked within this minute."""
        return self.root / "limits"

    def replies(self, key: str) -> Replies:
        """All replies that a model ever gave for one purpose, by request."""
        if key not in self._replies:
            claims = Claims(self.root / "locks" / f"replies-{key}.lock")
            folder = self.root / "replies" / key
            self._replies[key] = Replies(folder, claims, self.writers, self._remote.of_replies(folder))
        return self._replies[key]

    def received(self, key: str, owner: str) -> ReceivedNumbers:
        """Results of a server that stages share until `owner` drops them."""
        if (key, owner) not in self._received:
            self._received[key, owner] = ReceivedNumbers(self.workspace_path(key), owner)
        return self._received[key, owner]

    def pair_scores(self, key: str) -> PairScores:
        """All scores that a reranker ever gave over one set of chunks, by query and chunk."""
        folder = self.root / "pair_scores" / key
        return PairScores(folder, self._remote.of_pair_scores(folder))

    def workspace(self, key: str) -> Path:
        """A folder for what a long stage has made so far, made if it is not there. It goes when the result is kept."""
        folder = self.workspace_path(key)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def workspace_path(self, key: str) -> Path:
        """Where a stage's workspace is, if there is one."""
        return self.root / "workspaces" / key

    def discard_workspace(self, key: str) -> None:
        """Removes a stage's workspace, if there is one."""
        shutil.rmtree(self.workspace_path(key), ignore_errors=True)

    def refuse_links(self) -> None:
        """Raise StoreError for a symbolic link in place of a result, a reply or a folder of these. Raises OSError."""
        refuse_links(self.root)

    def entries(self, kind: str = "*") -> Iterator[StoredResult]:
        """All results, or those of one kind; those with an unreadable manifest are left out."""
        for of_kind, key in self._remote.results("" if kind == "*" else kind):
            self._current(self.folder(of_kind, key))
        for path in sorted((self.root / "entries").glob(f"{kind}/*/*/{MANIFEST}")):
            if entry := self._entry(path.parent):
                yield entry

    def folders_without_manifest(self) -> list[Path]:
        """Folders that hold no readable result."""
        folders = sorted(path for path in (self.root / "entries").glob("*/*/*") if path.is_dir())
        return [folder for folder in folders if self._entry(folder) is None and folder.is_dir()]

    def discard_folder(self, folder: Path) -> None:
        """Removes one that holds no readable result, unless one was put there in the meantime."""
        self._take_away(folder, None)

    def is_there(self, entry: StoredResult) -> bool:
        """Whether a result that was found is still the one at its place: others may be pruning."""
        return self._manifests.read(entry.folder, entry.folder) == entry.manifest
