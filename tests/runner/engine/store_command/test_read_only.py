"""Commands that only read a store change nothing in it, so that they work on another user's."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from components.records import Answer, AnswerState
from runner.engine.store import Store
from runner.engine.store.heartbeat import heartbeat
from runner.store import main

COMMANDS = (["ls"], ["verify"], ["prune", "--dry-run", "--older-than-days", "0"])
NOBODY = 65534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a store with a result, a reply, a run that was killed, and the record and lock of a writer that ended."""
    store = Store(tmp_path / "store", run_id="a run")
    store.write("chunks", "aa" * 32, {"data": b"x"}, seconds=1.0, made_from={})
    store.replies("bb" * 32).add("1", Answer("1", AnswerState.OK, "so"))
    for folder in ("runs", "exports"):
        (store.root / folder).mkdir()
    (store.root / "runs" / "old.json").write_text(json.dumps({"process": "gone", "keys": []}))
    record = {"folder": str(tmp_path / ".out.01234567"), "out": str(tmp_path / "out"), "host": os.uname().nodename}
    (store.root / "exports" / "gone.01234567").write_text(json.dumps(record))
    (store.root / "locks" / "x.lock").symlink_to("gone:01234567")
    (store.root / "writers" / "silent").write_text("another kernel")
    os.utime(store.root / "writers" / "silent", (0, 0))
    (store.root / "runs" / "silent.json").write_text(json.dumps({"process": "silent", "keys": []}))
    heartbeat.end()  # end this process's registration as a writer
    return store.root


def listing(root: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in [root, *root.rglob("*")]}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_read_only_commands_do_not_change_the_store(root: Path, command: list[str]) -> None:
    before = listing(root)
    assert main(["--store-dir", str(root), *command]) == 0
    assert listing(root) == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_store_without_some_folders_is_read(root: Path, command: list[str]) -> None:
    for name in ("replies", "pair_scores", "workspaces", "locks", "tmp", "writers", "runs", "exports"):
        shutil.rmtree(root / name)
    assert main(["--store-dir", str(root), *command]) == 0


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("command", [*COMMANDS, ["prune"]], ids=" ".join)
def test_another_user_may_read_the_store_and_not_prune(root: Path, command: list[str]) -> None:
    code = (
        f"import os, sys; import runner.store as command; os.setgid({NOBODY}); os.setuid({NOBODY}); "
        "sys.exit(command.main(sys.argv[1:]))"
    )
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        Path(folder).chmod(0o755)
        place = shutil.copytree(root, Path(folder) / "store", symlinks=True)
        ran = subprocess.run(
            [sys.executable, "-c", code, "--store-dir", str(place), *command],
            capture_output=True,
            text=True,
            check=False,
        )
    if command == ["prune"]:
        assert (ran.returncode, "cannot write in" in ran.stderr) == (2, True), ran.stderr
    else:
        assert (ran.returncode, ran.stderr) == (0, "")


def test_error_names_the_unreadable_store_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    assert main(["--store-dir", str(root), "verify"]) == 2
    assert f"{root}: Permission denied. " in capsys.readouterr().err
