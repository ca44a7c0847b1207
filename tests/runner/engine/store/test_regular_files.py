"""Stores from strangers: an irregular, endless or too deeply nested file is one error, or is computed again."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.errors import StoreError
from runner.engine.store import Store
from runner.engine.store.links import refuse_links
from runner.engine.store.manifests import MANIFEST
from runner.engine.store.part_files import checksum
from runner.engine.store.regular_files import open_regular, read_small
from runner.store import main as store_main
from tests.runner.sweeping import cells_in, entries_by_kind, run_small, samples_in, store_of

CELL = ("retriever=bm25", "metrics=retrieval")


def a_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def a_device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def deep(path: Path) -> None:
    path.write_text("[" * 200_000)


def endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 36)


PLANTED = [a_pipe, a_folder, a_device, deep, endless]


@pytest.mark.parametrize("plant", [a_pipe, a_folder, a_device])
def test_open_regular_refuses_pipes_folders_and_devices(plant: Callable[[Path], None], tmp_path: Path) -> None:
    plant(tmp_path / "x")
    with pytest.raises(StoreError, match="x: is not a regular file"):
        open_regular(tmp_path / "x")


def test_read_small_stops_at_its_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_small(tmp_path / "x", 5) == b"12345"
    with pytest.raises(StoreError, match="x: is larger than 4 bytes"):
        read_small(tmp_path / "x", 4)


@pytest.mark.parametrize("plant", PLANTED)
def test_irregular_store_description_is_one_error(
    plant: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "store"
    Store(root)
    plant(root / "store.json")
    with pytest.raises(StoreError, match=r"store\.json"):
        Store(root)
    for command in (["ls"], ["verify"], ["prune", "--older-than-days", "0"]):
        assert store_main(["--store-dir", str(root), *command]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("plant", PLANTED)
def test_result_with_an_irregular_manifest_is_computed_again(plant: Callable[[Path], None], tmp_path: Path) -> None:
    assert run_small(tmp_path, CELL) == 0
    before = cells_in(tmp_path)[0].metrics
    (result,) = entries_by_kind(store_of(tmp_path))["result"]
    plant(result.folder / MANIFEST)
    assert run_small(tmp_path, CELL, sweep_id="again") == 0
    assert cells_in(tmp_path, "again")[0].metrics == before


@pytest.mark.parametrize("plant", [a_pipe, a_device, deep])
def test_malformed_lease_causes_no_traceback(plant: Callable[[Path], None], tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (store.root / "runs").mkdir(exist_ok=True)
    plant(store.root / "runs" / "x.json")
    outcome = store_main(["--store-dir", str(store.root), "prune", "--older-than-days", "0", "--dry-run"])
    assert outcome == (0 if plant is deep else 2)


@pytest.mark.parametrize("plant", [a_pipe, a_folder, a_device])
def test_non_regular_reply_file_is_one_error(plant: Callable[[Path], None], tmp_path: Path) -> None:
    folder = tmp_path / "store" / "replies" / "m"
    store = Store(tmp_path / "store")
    folder.mkdir()
    plant(folder / "p.jsonl")
    with pytest.raises(StoreError, match=r"p\.jsonl: is not a regular file"):
        store.replies("m").get_all(["1"])


def test_pipe_among_the_files_of_a_store_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (store.root / "replies" / "m").mkdir()
    a_pipe(store.root / "replies" / "m" / "p.jsonl")
    with pytest.raises(StoreError, match=r"p\.jsonl: is neither a file nor a folder"):
        refuse_links(store.root)


def drop_column(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.drop_columns([table.column_names[-1]]), path)


def renamed(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.rename_columns([f"{name}_" for name in table.column_names]), path)


def emptied(path: Path) -> None:
    pq.write_table(pa.table({"id": pa.nulls(3)}), path)


@pytest.mark.parametrize("change", [drop_column, renamed, emptied])
@pytest.mark.parametrize("kind", ["data", "corpus"])
def test_changed_table_with_a_valid_checksum_is_computed_again(
    change: Callable[[Path], None], kind: str, tmp_path: Path
) -> None:
    assert run_small(tmp_path, CELL) == 0
    before = cells_in(tmp_path)[0].metrics, samples_in(tmp_path)
    (entry,) = entries_by_kind(store_of(tmp_path))[kind]
    (table,) = entry.folder.glob("*.parquet")
    change(table)
    manifest = json.loads((entry.folder / MANIFEST).read_text())
    manifest["files"][table.name] = [checksum(table), table.stat().st_size]
    (entry.folder / MANIFEST).write_text(json.dumps(manifest))
    for more in ("top_k=3", "top_k=4"):  # which read the parts
        assert run_small(tmp_path, (*CELL, more), sweep_id=more) == 0
    assert run_small(tmp_path, CELL, sweep_id="again") == 0
    assert (cells_in(tmp_path, "again")[0].metrics, samples_in(tmp_path, "again")) == before


def test_sweep_succeeds_despite_manifest_with_numeric_versions(tmp_path: Path) -> None:
    assert run_small(tmp_path, CELL) == 0
    for entry in entries_by_kind(store_of(tmp_path))["corpus"]:
        manifest = json.loads((entry.folder / MANIFEST).read_text())
        (entry.folder / MANIFEST).write_text(json.dumps({**manifest, "made_with": {"numpy": 5}}))
    assert run_small(tmp_path, (*CELL, "top_k=3"), sweep_id="again") == 0
