"""A store from a stranger may contain symbolic links. No command reads or removes their targets."""

import os
import time
from pathlib import Path

import pytest

from components.errors import StoreError
from components.records import Answer, AnswerState
from runner.engine.store import Store
from runner.engine.store.heartbeat import heartbeat
from runner.engine.store.stored_blocks import write_block
from runner.store import main

LONG_AGO = time.time() - 100 * 86_400
FOLDERS = ("entries", "replies", "pair_scores", "workspaces", "locks", "tmp", "writers", "runs", "exports", "limits")
LEVELS = (
    *FOLDERS,
    "entries/chunks",
    "entries/chunks/aa",
    f"entries/chunks/aa/{'aa' * 32}",
    f"replies/{'bb' * 32}",
    f"pair_scores/{'cc' * 32}",
    f"workspaces/{'dd' * 32}",
)
COMMANDS = (["ls"], ["verify"], ["verify", "--delete"], ["prune", "--dry-run"], ["prune", "--older-than-days", "0"])


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder whose files look old, like blocks, records and writers that have ended, at every depth."""
    folder = tmp_path / "outside"
    for place in (folder, folder / "a", folder / "a" / "b", folder / "a" / "b" / "c"):
        place.mkdir()
        for name in ("thesis.txt", "block.0123.npy", "run.json", "host-1-0123456789abcdef.01234567"):
            (place / name).write_text("{}")
            os.utime(place / name, (LONG_AGO, LONG_AGO))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store", run_id="a run")
    store.write("chunks", "aa" * 32, {"data": b"x"}, seconds=1.0, made_from={})
    store.replies("bb" * 32).add("1", Answer("1", AnswerState.OK, "so"))
    write_block(store.root / "pair_scores" / ("cc" * 32), "block", b"x")
    store.workspace("dd" * 32)
    heartbeat.end()  # end this process's registration as a writer
    return store


def listing(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


@pytest.mark.parametrize("level", LEVELS)
def test_store_commands_refuse_a_link_at_every_level(
    store: Store, outside: Path, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, place = listing(outside), store.root / level
    if place.exists():
        place.rename(store.root.with_name("moved away"))
    place.symlink_to(outside)
    for command in COMMANDS:
        assert main(["--store-dir", str(store.root), *command]) == 2
        assert f"{place}: is a symbolic link in a store" in capsys.readouterr().err
    assert listing(outside) == before


@pytest.mark.parametrize("level", [*FOLDERS, f"replies/{'bb' * 32}", "entries/chunks", "entries/chunks/aa"])
def test_sweeps_refuse_a_link_in_place_of_a_store_folder(store: Store, outside: Path, level: str) -> None:
    place = store.root / level
    if place.exists():
        place.rename(store.root.with_name("moved away"))
    place.symlink_to(outside)
    with pytest.raises(StoreError, match="a symbolic link in a store"):
        Store(store.root)


@pytest.mark.parametrize("level", ["tmp/link", f"workspaces/{'dd' * 32}/x.0123.npy"])
def test_prune_removes_links_of_components_and_not_their_targets(
    store: Store, outside: Path, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, place = listing(outside), store.root / level
    place.symlink_to(outside / "block.0123.npy" if "workspaces" in level else outside)
    os.utime(place, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    assert main(["--store-dir", str(store.root), "verify"]) == 0
    assert main(["--store-dir", str(store.root), "prune", "--older-than-days", "0"]) == 0
    assert not place.is_symlink()
    assert listing(outside) == before


def test_verify_reports_a_result_file_that_is_a_link(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = store.folder("chunks", "aa" * 32) / "data"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    store.find_again("chunks", "aa" * 32)
    entry = store.find("chunks", "aa" * 32)
    assert entry is not None
    assert entry.damages() == ["data is a symbolic link"]


def test_link_to_the_whole_store_is_accepted(store: Store, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(store.root)
    assert main(["--store-dir", str(tmp_path / "linked"), "verify"]) == 0
    assert main(["--store-dir", str(tmp_path / "linked"), "prune"]) == 0
