import errno
import json
import multiprocessing
import os
import pickle
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.errors import ConfigError, DamagedEntryError, StoreError
from runner.engine.outcome import StageRun
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.engine.store import Store, StoredResult, open_store
from runner.engine.store import stored_result as entry_of_store
from runner.engine.worker import Worker
from tests.runner.engine.fake_stages import Adder, Left, Sum, add
from tests.runner.sweeping import flip_a_byte, read_or_make

KIND, KEY = "vectors", "ab" * 32
PAYLOAD = {"vectors": np.arange(8, dtype=np.float32), "facts": {"n": 8}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", run_id="this run")


def write(store: Store, key: str = KEY, *, partial: bool = False) -> StoredResult:
    return store.write(KIND, key, PAYLOAD, seconds=1.5, made_from={"stage": KIND}, partial=partial)


def read_entry(store: Store) -> StoredResult:
    """The entry as another process finds it, in the same run: its checksums were not compared yet."""
    entry = Store(store.root, store.run_id).find(KIND, KEY)
    assert entry is not None
    return entry


def fill_disk(monkeypatch: pytest.MonkeyPatch, number: int = errno.ENOSPC) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", refuse)


class TestMappedArrays:
    """Arrays that are too large to copy: a stage makes them in a workspace, or passes them on from another result."""

    def written(self, store: Store, array: np.ndarray) -> StoredResult:
        return store.write(KIND, KEY, {"vectors": array}, seconds=1.5, made_from={})

    def test_array_mapped_from_the_store_is_linked_instead_of_copied(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(store.root.parent)
        store = Store(Path(store.root.name))
        file = store.workspace(KEY) / "vectors.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, np.arange(8))
        entry = self.written(store, np.load(file, mmap_mode="r"))
        assert (entry.folder / "vectors.npy").stat().st_ino == file.stat().st_ino
        store.discard_workspace(KEY)
        assert read_entry(store).parts()["vectors"].tolist() == list(range(8))

    def test_array_mapped_from_outside_the_store_is_copied(self, store: Store, tmp_path: Path) -> None:
        """The owner of the file may write into it later."""
        np.save(tmp_path / "own.npy", np.arange(8))
        entry = self.written(store, np.load(tmp_path / "own.npy", mmap_mode="r"))
        np.save(tmp_path / "own.npy", np.zeros(8))
        assert entry.parts()["vectors"].tolist() == list(range(8))
        assert (entry.folder / "vectors.npy").stat().st_nlink == 1


class TestPuttingAFileElsewhere:
    """Result files link to the store's files, so that they are on disk only once if the file system allows it."""

    def test_stored_file_is_linked_where_possible(self, store: Store, tmp_path: Path) -> None:
        write(store)
        folder = tmp_path / "results"
        folder.mkdir()
        for _ in range(2):
            read_entry(store).put_file("vectors.npy", folder / "vectors.npy")
        assert (folder / "vectors.npy").samefile(read_entry(store).folder / "vectors.npy")
        assert [path.name for path in folder.iterdir()] == ["vectors.npy"]

    def test_existing_target_file_is_replaced(self, store: Store, tmp_path: Path) -> None:
        write(store)
        path, other = tmp_path / "vectors.npy", tmp_path / "other"
        path.write_bytes(b"of an earlier run")
        os.link(path, other)
        read_entry(store).put_file("vectors.npy", path)
        np.testing.assert_array_equal(np.load(path), PAYLOAD["vectors"])
        assert other.read_bytes() == b"of an earlier run"

    @pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK])
    def test_stored_file_is_copied_where_links_are_impossible(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        write(store)
        monkeypatch.setattr("os.link", refuse)
        read_entry(store).put_file("vectors.npy", tmp_path / "vectors.npy")
        stored = read_entry(store).folder / "vectors.npy"
        assert (tmp_path / "vectors.npy").read_bytes() == stored.read_bytes()
        assert not (tmp_path / "vectors.npy").samefile(stored)

    def test_either_of_two_links_can_be_removed(self, store: Store, tmp_path: Path) -> None:
        write(store)
        path = tmp_path / "vectors.npy"
        read_entry(store).put_file("vectors.npy", path)
        path.unlink()
        assert read_entry(store).damages() == []
        read_entry(store).put_file("vectors.npy", path)
        store.discard(read_entry(store))
        np.testing.assert_array_equal(np.load(path), PAYLOAD["vectors"])

    def test_damaged_or_missing_file_is_not_put_anywhere(self, store: Store, tmp_path: Path) -> None:
        write(store)
        entry = read_entry(store)
        flip_a_byte(entry.folder / "vectors.npy")
        with pytest.raises(DamagedEntryError, match="does not match its checksum"):
            entry.put_file("vectors.npy", tmp_path / "vectors.npy")
        store.discard(entry)
        write(store)
        entry = read_entry(store)
        entry.parts()["vectors"]
        (entry.folder / "vectors.npy").unlink()
        with pytest.raises(DamagedEntryError):
            entry.put_file("vectors.npy", tmp_path / "vectors.npy")
        assert not (tmp_path / "vectors.npy").exists()

    def test_missing_target_folder_is_not_damage(self, store: Store, tmp_path: Path) -> None:
        write(store)
        with pytest.raises(FileNotFoundError):
            read_entry(store).put_file("vectors.npy", tmp_path / "nowhere" / "vectors.npy")


def test_origin_of_a_result_is_on_disk_and_not_in_memory(store: Store) -> None:
    """A sweep has thousands of manifests in memory, and this description is most of each."""
    made_from = {"stage": KIND, "fields": ["x" * 10_000]}
    entries_held = [store.write(KIND, KEY, PAYLOAD, seconds=0, made_from=made_from), read_entry(store)]
    assert all("x" * 100 not in repr(vars(entry.manifest)) for entry in entries_held)
    manifest = json.loads((entries_held[0].folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["made_from"] == made_from


def test_equal_versions_of_many_results_are_held_once(store: Store) -> None:
    for key, faiss in {"aa" * 32: "1", "bb" * 32: "1", "cc" * 32: "2"}.items():
        store.write(KIND, key, PAYLOAD, seconds=0, made_from={}, made_with={"python": "3.11", "faiss-cpu": faiss})
    first, second, other = (entry.manifest.made_with for entry in Store(store.root).entries())
    assert first is second
    assert other == {"python": "3.11", "faiss-cpu": "2"}


class TestWriting:
    def test_written_result_is_read_from_the_store(self, store: Store) -> None:
        write(store)
        entry = store.find(KIND, KEY)
        assert entry is not None
        parts = entry.parts()
        np.testing.assert_array_equal(parts["vectors"], PAYLOAD["vectors"])
        assert parts["facts"] == {"n": 8}

    def test_unknown_part_name_is_rejected(self, store: Store) -> None:
        parts = write(store).parts()
        assert set(parts) == {"vectors", "facts"}
        assert len(parts) == 2
        assert "other" not in parts
        with pytest.raises(DamagedEntryError, match="other is not in the manifest"):
            parts["other"]

    def test_result_part_is_read_without_the_other_parts(self, store: Store) -> None:
        entry = write(store)
        (entry.folder / "vectors.npy").unlink()
        assert entry.parts()["facts"] == {"n": 8}

    def test_manifest_records_the_origin_of_the_result(self, store: Store) -> None:
        write(store)
        manifest = json.loads((store.folder(KIND, KEY) / "manifest.json").read_text(encoding="utf-8"))
        assert (manifest["kind"], manifest["key"], manifest["seconds"]) == (KIND, KEY, 1.5)
        assert manifest["made_from"] == {"stage": KIND}
        assert set(manifest["files"]) == {"vectors.npy", "facts.json"}

    def test_unknown_keys_are_not_found(self, store: Store) -> None:
        write(store)
        assert store.find(KIND, "cd" * 32) is None
        assert store.find("chunks", KEY) is None

    def test_manifest_is_written_last_and_the_result_appears_whole(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        states: list[tuple[set[str], bool]] = []
        sync = os.fsync

        def note_and_sync(descriptor: int) -> None:
            written = {path.name for path in (store.root / "tmp").glob("*/*")}
            states.append((written, store.folder(KIND, KEY).exists()))
            sync(descriptor)

        monkeypatch.setattr("os.fsync", note_and_sync)
        write(store)
        *parts, manifest, moved = states
        assert all("manifest.json" not in written and not visible for written, visible in parts)
        assert manifest == ({"vectors.npy", "facts.json", "manifest.json"}, False)
        assert moved == (set(), True)

    def test_complete_result_replaces_a_partial_result(self, store: Store) -> None:
        write(store, partial=True)
        store.write(KIND, KEY, {"facts": {"n": 9}}, seconds=0.1, made_from={})
        for reader in (store, Store(store.root)):
            entry = reader.find(KIND, KEY)
            assert entry is not None
            assert dict(entry.parts()) == {"facts": {"n": 9}}

    def test_store_entries_list_all_results(self, store: Store) -> None:
        write(store)
        write(store, "cd" * 32)
        assert [entry.manifest.key for entry in store.entries()] == [KEY, "cd" * 32]

    def test_discarded_result_is_not_found(self, store: Store) -> None:
        store.discard(write(store))
        assert store.find(KIND, KEY) is None
        assert not store.folder(KIND, KEY).exists()


class TestFirstWriter:
    """Two processes that do not know of each other write a result for one key. Correctness must not need a lock."""

    def second(self, store: Store, **options: Any) -> StoredResult:
        other = Store(store.root, run_id="another run")
        return other.write(KIND, KEY, {"facts": {"n": 9}}, seconds=7.5, made_from={}, **options)

    def test_second_writer_gets_the_first_result(self, store: Store) -> None:
        first, second = write(store), self.second(store)
        assert (first.is_new, second.is_new) == (True, False)
        assert second.manifest == first.manifest == read_entry(store).manifest
        assert second.parts()["facts"] == {"n": 8}
        assert list((store.root / "tmp").iterdir()) == []

    def test_all_concurrent_writers_get_one_result(self, store: Store) -> None:
        together = threading.Barrier(8)

        def run(number: int) -> StoredResult:
            together.wait(timeout=30)
            return Store(store.root).write(KIND, KEY, {"facts": number}, seconds=number, made_from={})

        with ThreadPoolExecutor(8) as pool:
            written = list(pool.map(run, range(8)))
        (first,) = [entry for entry in written if entry.is_new]
        assert {entry.parts()["facts"] for entry in written} == {first.manifest.seconds}

    @pytest.mark.parametrize(
        "damage",
        [
            lambda folder: (folder / "manifest.json").write_text("{"),
            lambda folder: (folder / "manifest.json").unlink(),
            lambda folder: replace_text(folder / "manifest.json", KEY, "cd" * 32),
            lambda folder: (folder / "facts.json").unlink(),
            lambda folder: cut_short(folder / "vectors.npy"),
        ],
        ids=["unreadable_manifest", "no_manifest", "of_another_result", "missing_file", "truncated"],
    )
    def test_incomplete_result_is_replaced(self, store: Store, damage: Callable[[Path], None]) -> None:
        damage(write(store).folder)
        assert self.second(store).is_new
        assert dict(read_entry(store).parts()) == {"facts": {"n": 9}}
        assert list((store.root / "tmp").iterdir()) == []

    def test_discarding_an_old_result_keeps_a_newer_one(self, store: Store) -> None:
        seen = write(store)
        Store(store.root).discard(seen)
        self.second(store)
        store.discard(seen)
        assert read_entry(store).parts()["facts"] == {"n": 9}
        assert list((store.root / "tmp").iterdir()) == []

    def test_partial_result_does_not_replace_a_complete_result(self, store: Store) -> None:
        write(store)
        other = self.second(store, partial=True)
        assert not other.is_new
        assert other.parts()["facts"] == {"n": 8}

    def test_rename_succeeds_even_if_its_response_was_lost(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """NFS repeats the request, and the server answers that the source does not exist."""
        rename = Path.rename

        def lose_the_answer(path: Path, target: Path) -> Path:
            rename(path, target)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

        monkeypatch.setattr(Path, "rename", lose_the_answer)
        assert write(store).is_new

    def test_overtaken_worker_reports_and_reads_the_first_result(self, store: Store) -> None:
        def be_overtaken(stage: Sum, run: Run) -> int:
            Store(store.root).write(stage.kind, stage.key, {"number": 41}, seconds=7.5, made_from={})
            return add(stage, run)

        stage = Sum(compute=be_overtaken)
        worker = Worker(store)
        assert worker.run(stage) == StageRun(stage.key, "sum", seconds=7.5, reused=True)
        follower = Left(row=(stage,))
        worker.run(follower)
        assert read_or_make(follower, store) == 42

    def test_worker_that_lost_its_workspace_reports_the_result_of_the_other(self, store: Store) -> None:
        def lose_the_workspace(stage: Sum, run: Run) -> int:
            folder = run.workspace
            other = Store(store.root)
            other.write(stage.kind, stage.key, {"number": 41}, seconds=7.5, made_from={})
            other.discard_workspace(stage.key)
            return int((folder / "half").read_text())

        stage = Sum(compute=lose_the_workspace)
        assert Worker(store).run(stage) == StageRun(stage.key, "sum", seconds=7.5, reused=True)


class TestHandingOver:
    def test_pickled_store_opens_with_the_same_arguments(self, store: Store) -> None:
        write(store)
        other = pickle.loads(pickle.dumps(store))
        assert (other.root, other.run_id) == (store.root, store.run_id)
        assert other.find(KIND, KEY).compared == set()

    def test_store_address_that_is_no_folder_or_bucket_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"run\.store_dir: got ftp://, expected a folder, or a bucket"):
            open_store("ftp://there/store", "cache")

    def test_store_folder_survives_a_change_of_working_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        store = open_store("store", "cache", "this run")
        monkeypatch.chdir("/")
        assert write(store).folder.is_relative_to(tmp_path)


def replace_text(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


class TestDamage:
    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (flip_a_byte, "does not match its checksum"),
            (cut_short, "bytes, the manifest says"),
            (Path.unlink, "is missing"),
        ],
        ids=["flipped_byte", "truncated", "missing_file"],
    )
    def test_damage_is_found_when_the_result_is_read(
        self, store: Store, damage: Callable[[Path], None], message: str
    ) -> None:
        write(store)
        entry = read_entry(store)
        damage(entry.folder / "vectors.npy")
        with pytest.raises(DamagedEntryError, match=f"vectors.npy .*{message}"):
            entry.parts()["vectors"]
        assert [message in damaged for damaged in entry.damages()] == [True]

    def test_damaged_part_does_not_affect_other_parts(self, store: Store) -> None:
        write(store)
        entry = read_entry(store)
        flip_a_byte(entry.folder / "vectors.npy")
        assert entry.parts()["facts"] == {"n": 8}

    def test_checksum_is_compared_when_a_part_is_first_read(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compared: list[Path] = []
        checksum = entry_of_store.checksum
        monkeypatch.setattr(entry_of_store, "checksum", lambda path: compared.append(path) or checksum(path))
        write(store)
        compared.clear()
        reader = Store(store.root)
        for _ in range(2):
            entry = reader.find(KIND, KEY)
            assert entry is not None
            entry.parts()["facts"]
            entry.parts()["facts"]
        assert [path.name for path in compared] == ["facts.json"]

    def test_unreadable_file_of_the_right_size_is_damage(self, store: Store) -> None:
        entry = store.write(KIND, KEY, {"facts": "text"}, seconds=0, made_from={})
        path = entry.folder / "facts.json"
        path.write_bytes(b"\xff" * path.stat().st_size)
        entry.compared.add("facts.json")
        with pytest.raises(DamagedEntryError, match="vectors abababababab"):
            entry.parts()["facts"]

    @pytest.mark.parametrize(
        ("file", "content"), [("vectors.npy", b"of a later version"), ("facts.json", b"[" * 100_000)]
    )
    def test_file_of_an_unknown_format_is_damage(self, store: Store, file: str, content: bytes) -> None:
        write(store)
        folder = read_entry(store).folder
        (folder / file).unlink()
        (folder / file).write_bytes(content)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][file] = [sha256(content).hexdigest(), len(content)]
        (folder / "manifest.json").write_text(json.dumps(manifest))
        entry = Store(store.root).find(KIND, KEY)
        assert entry is not None
        with pytest.raises(DamagedEntryError, match=f"{file} cannot be read"):
            entry.parts()[Path(file).stem]
        assert [damage.startswith(f"{file} cannot be read") for damage in entry.damages()] == [True]

    @pytest.mark.parametrize("are_deleted", [False, True])
    def test_file_that_the_manifest_does_not_name_is_damage(self, store: Store, are_deleted: bool) -> None:
        folder = write(store).folder
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, "files": {}}))
        for path in folder.glob("[!m]*") if are_deleted else ():
            path.unlink()
        entry = read_entry(store)
        with pytest.raises(DamagedEntryError, match="vectors is not in the manifest"):
            entry.parts()["vectors"]
        with pytest.raises(DamagedEntryError, match=r"vectors\.npy is not in the manifest"):
            entry.put_file("vectors.npy", store.root / "vectors.npy")
        assert "vectors.npy is not in the manifest" in entry.damages(), "so that it is computed again"
        assert ("facts.json is not in the manifest" in read_entry(store).damages()) is not are_deleted

    @pytest.mark.parametrize("name", ["Thumbs.db", "desktop.ini", ".DS_Store", "._vectors.npy"])
    def test_files_that_systems_add_to_folders_are_no_damage(self, name: str, store: Store) -> None:
        (write(store).folder / name).write_bytes(b"x")
        assert read_entry(store).damages() == []

    def test_size_check_alone_finds_truncated_but_not_flipped_files(self, store: Store) -> None:
        entry = write(store)
        flip_a_byte(entry.folder / "vectors.npy")
        assert entry.damages(contents=False) == []
        cut_short(entry.folder / "facts.json")
        assert len(entry.damages(contents=False)) == 1

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "null", '{"kind": "vectors"}', '{"files": {"a": 1}}', '{"files": []}', "[" * 100_000],
        ids=lambda text: text[:20],
    )
    def test_result_with_an_unreadable_manifest_is_missing_and_damaged(self, store: Store, text: str) -> None:
        folder = write(store).folder
        (folder / "manifest.json").write_text(text, encoding="utf-8")
        store = Store(store.root)  # a manifest is read once per process
        assert store.find(KIND, KEY) is None
        assert store.has_damaged_manifest(KIND, KEY)
        assert list(store.entries()) == []
        assert store.folders_without_manifest() == [folder]

    @pytest.mark.parametrize(
        ("name", "value"),
        [("seconds", "1.5"), ("seconds", None), ("created", None), ("created", float("inf")), ("partial", "no")],
    )
    def test_result_with_impossible_manifest_values_is_missing(self, store: Store, name: str, value: object) -> None:
        path = write(store).folder / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), name: value}), encoding="utf-8")
        assert Store(store.root).find(KIND, KEY) is None

    @pytest.mark.parametrize(("kind", "key"), [(KIND, "cd" * 16), ("chunks", KEY)])
    def test_result_moved_to_another_folder_is_missing_and_damaged(self, store: Store, kind: str, key: str) -> None:
        folder = store.folder(kind, key)
        folder.parent.mkdir(parents=True)
        write(store).folder.rename(folder)
        reader = Store(store.root)
        assert reader.find(kind, key) is None
        assert reader.has_damaged_manifest(kind, key)

    def test_result_without_a_manifest_is_missing(self, store: Store) -> None:
        (write(store).folder / "manifest.json").unlink()
        reader = Store(store.root)
        assert reader.find(KIND, KEY) is None
        assert not reader.has_damaged_manifest(KIND, KEY)

    def test_new_result_replaces_one_without_a_manifest(self, store: Store) -> None:
        (write(store).folder / "manifest.json").unlink()
        write(store)
        entry = store.find(KIND, KEY)
        assert entry is not None
        assert entry.damages() == []

    def test_files_of_a_killed_writer_are_not_listed_as_a_result(self, store: Store) -> None:
        half = store.root / "tmp" / "left-behind"
        half.mkdir()
        (half / "vectors.npy").write_bytes(b"half")
        assert list(store.entries()) == []
        write(store)
        assert [entry.manifest.key for entry in store.entries()] == [KEY]


class TestPartialResults:
    def test_partial_results_are_found_by_their_own_run(self, store: Store) -> None:
        write(store, partial=True)
        assert store.find(KIND, KEY) is not None

    def test_partial_results_are_not_found_by_another_run(self, store: Store) -> None:
        write(store, partial=True)
        assert Store(store.root, run_id="another run").find(KIND, KEY) is None
        assert Store(store.root).find(KIND, KEY) is None

    def test_partial_results_of_several_runs_are_separate(self, store: Store) -> None:
        other = Store(store.root, run_id="another run")
        write(store, partial=True)
        write(other, partial=True)
        assert store.find(KIND, KEY).folder != other.find(KIND, KEY).folder

    def test_complete_results_are_visible_to_every_run(self, store: Store) -> None:
        write(store)
        assert Store(store.root, run_id="another run").find(KIND, KEY) is not None


class TestFormat:
    @pytest.mark.parametrize("text", ["", "{}", "[1]", "3", '{"format": "x"}', '{"format": Infinity}'])
    def test_store_json_with_other_contents_is_refused(self, store: Store, text: str) -> None:
        (store.root / "store.json").write_text(text)
        with pytest.raises(StoreError, match="not a store's description") as raised:
            Store(store.root)
        (store.root / "store.json").write_text(str(raised.value).partition(" write ")[2].partition(" into it")[0])
        Store(store.root)

    def test_folder_in_place_of_store_json_is_an_error(self, store: Store) -> None:
        (store.root / "store.json").unlink()
        (store.root / "store.json").mkdir()
        with pytest.raises(
            StoreError, match=rf"^{store.root / 'store.json'}: is a folder, expected a file that describes the store"
        ):
            Store(store.root)


class TestDisk:
    def test_file_in_place_of_the_store_folder_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "store").touch()
        with pytest.raises(
            StoreError, match=r"cannot write in .*store.*Choose another run\.store_dir, or make this one writable"
        ):
            Store(tmp_path / "store")

    def test_read_only_store_folder_is_an_error(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o555)
        try:
            if os.access(tmp_path, os.W_OK):
                pytest.skip("this user may write into read-only folders")
            with pytest.raises(StoreError, match=r"run\.store_dir: cannot write in"):
                Store(tmp_path / "store")
        finally:
            tmp_path.chmod(0o755)

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
    def test_full_disk_leaves_no_partial_result(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        fill_disk(monkeypatch, number)
        with pytest.raises(
            StoreError, match=r"'vectors': the disk is full. Free some space, then run the same command again"
        ):
            write(store)
        assert store.find(KIND, KEY) is None
        assert list((store.root / "tmp").iterdir()) == []

    def test_full_disk_keeps_the_older_result(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        write(store)
        fill_disk(monkeypatch)
        with pytest.raises(StoreError):
            store.write(KIND, KEY, {"facts": {}}, seconds=0, made_from={})
        entry = store.find(KIND, KEY)
        assert entry is not None
        assert entry.parts()["facts"] == {"n": 8}

    def test_disk_error_during_a_write_is_reported(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        fill_disk(monkeypatch, errno.EIO)
        with pytest.raises(StoreError, match="Input/output error"):
            write(store)

    def test_cheap_result_is_not_synced(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[int] = []
        monkeypatch.setattr("os.fsync", synced.append)
        store.write(KIND, KEY, PAYLOAD, seconds=0.1, made_from={}, synced=False)
        assert synced == []
        assert read_entry(store).damages() == []


class TestWorkspace:
    def test_workspace_exists_until_it_is_discarded(self, store: Store) -> None:
        (store.workspace(KEY) / "half.npy").write_bytes(b"x")
        assert (Store(store.root).workspace(KEY) / "half.npy").read_bytes() == b"x"
        store.discard_workspace(KEY)
        assert list(store.workspace(KEY).iterdir()) == []

    def test_discarding_a_workspace_keeps_other_workspaces(self, store: Store) -> None:
        (store.workspace(KEY) / "half.npy").write_bytes(b"x")
        store.discard_workspace("cd" * 32)
        assert (store.workspace(KEY) / "half.npy").exists()


def run_in_process(root: Path, stage: Stage[object]) -> StageRun:
    return Worker(Store(root)).run(stage)


class TestLocks:
    def test_concurrent_threads_compute_one_result_once(self, store: Store, tmp_path: Path) -> None:
        stage = Sum(Adder(calls=str(tmp_path / "calls.txt")))
        together = threading.Barrier(4)

        def run() -> StageRun:
            together.wait(timeout=30)
            return Worker(store).run(stage)

        with ThreadPoolExecutor(4) as pool:
            runs = [future.result() for future in [pool.submit(run) for _ in range(4)]]
        assert sorted(run.reused for run in runs) == [False, True, True, True]
        assert (tmp_path / "calls.txt").read_text(encoding="utf-8") == "sum\n"

    def test_waiting_process_reuses_the_result_of_the_lock_holder(self, store: Store, tmp_path: Path) -> None:
        stage = Sum(Adder(calls=str(tmp_path / "calls.txt")))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            with store.lock("sum", stage.key):
                waiting = pool.apply_async(run_in_process, (store.root, stage))
                store.write("sum", stage.key, {"number": 1}, seconds=0, made_from={})
            assert waiting.get(timeout=60).reused
        assert not (tmp_path / "calls.txt").exists()


def test_half_written_files_of_a_killed_worker_are_removed_with_the_run(tmp_path: Path) -> None:
    store, other = Store(tmp_path, "a-run"), tmp_path / "tmp" / "another-run-1"
    for folder in (tmp_path / "tmp" / "a-run-1", other):
        folder.mkdir()
        (folder / "half.npy").touch()
    store.discard_temporary()
    assert list((tmp_path / "tmp").iterdir()) == [other]
    Store(tmp_path).discard_temporary()
    assert other.exists(), "a reader is no run"
    shutil.rmtree(tmp_path / "tmp")
    store.discard_temporary()  # must not raise: the caller is about to report an error
