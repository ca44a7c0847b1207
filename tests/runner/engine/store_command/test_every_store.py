"""Every command of the store, on stores that every other command wrote."""

import json
import os
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.annotate import main as annotate
from runner.engine.store import Store
from runner.engine.store.locks import hold_lock
from runner.export_rankings import main as export_rankings
from runner.generate import main as generate
from runner.judge_agreement import main as judge_agreement
from runner.judge_training import main as judge_training
from runner.models import main as models
from runner.results.loaded_sweep import load
from runner.score import main as score
from runner.serving.exporting.exported_cell import collect_export
from runner.store import main
from tests.buckets import Bucket
from tests.conftest import MakeOnce
from tests.llms.chat_server import Reply, chat_server
from tests.runner.serving.exporting.dying import die, quick_exports
from tests.runner.serving.exporting.exporting import export
from tests.runner.sweeping import RANKING_ONLY, SWEEP_ID, run_small, store_of

COMMANDS = {
    "ls": ["ls"],
    "verify": ["verify"],
    "verify --delete": ["verify", "--delete"],
    "prune": ["prune"],
    "prune --dry-run": ["prune", "--dry-run"],
    "prune all, --dry-run": ["prune", "--older-than-days", "0", "--dry-run"],
    "prune all": ["prune", "--older-than-days", "0"],
    "prune a stage": ["prune", "--older-than-days", "0", "--stage", "STAGE"],
    "prune replies": ["prune", "--older-than-days", "0", "--stage", "replies"],
}
READING = ("ls", "verify", "verify --delete", "prune --dry-run", "prune all, --dry-run")
SCRIPTED = (*RANKING_ONLY, "llm=scripted")


def swept(folder: Path, *overrides: str) -> None:
    assert run_small(folder, *((*SCRIPTED, *overrides, f"top_k={k}") for k in (2, 4))) == 0


def generated(folder: Path, *overrides: str) -> None:
    """Generate a test set. Its lock remains as an empty file."""
    where = [f"out={folder / 'set'}", *(overrides or [f"run.store_dir={store_of(folder).root}"])]
    few = ["tasks=[extractive]", "gates=[form,location]", "per_cell=1"]
    assert generate(["corpus=demo", "topics=demo", "llm=rehearsal", *few, *where]) in (0, 1)


def agreed(folder: Path, *overrides: str) -> None:
    labels = folder / "labels.jsonl"
    item = {"question": "Who?", "references": ["She"], "answer": "She", "labels": {"accuracy": 2}}
    labels.write_text(json.dumps(item) + "\n")
    with pytest.MonkeyPatch.context() as patch, chat_server(lambda *_: Reply('{"reason": "x", "grade": 2}')) as server:
        patch.setenv("OPENAI_API_KEY", "none")
        judge = ["judge.llm.model=m", f"judge.llm.base_url={server.url}"]
        where = overrides or [f"run.store_dir={store_of(folder).root}"]
        assert judge_agreement(["--labels", str(labels), "--judge", "omnieval", *judge, *where]) == 0


def exported(folder: Path) -> None:
    """Return one complete export and one that was killed."""
    swept(folder)
    with quick_exports():
        assert export(folder, "top_k=2", folder / "whole") == 0
        sweep = load(folder / "results" / SWEEP_ID)
        cell = collect_export(sweep, sweep.cell("top_k=4"), store_of(folder).root)
        n_steps = die(cell, folder / "killed")
        shutil.rmtree(folder / "killed")
        die(cell, folder / "killed", n_steps // 2)


def read_by_all(folder: Path) -> None:
    """Read the results of a sweep with commands that write nothing into the store."""
    generated(folder)
    swept(folder)
    sweep = str(folder / "results" / SWEEP_ID)
    assert export_rankings([sweep, "--cell", "top_k=2", "--format", "trec", "--out", str(folder / "run.txt")]) == 0
    assert annotate(["export", str(folder / "set"), "--to", str(folder / "tasks.json")]) == 0
    predictions = folder / "predictions.jsonl"
    predictions.write_text('{"id": "1", "question": "Who?", "prediction": "a", "references": ["a"]}\n')
    assert score(["--input", str(predictions), "--metrics", "em", "--out", str(folder / "scores.jsonl")]) == 0
    assert models(["check", "embedder=hashing"]) == 2  # none is chosen
    labels, out = folder / "labels.jsonl", folder / "judge_data"
    item = {"references": ["She"], "answer": "She", "labels": {"accuracy": 2}}
    labels.write_text("".join(json.dumps({"question": f"Who is {n}?", **item}) + "\n" for n in range(40)))
    training = ["prepare", "--labels", str(labels), "--judge", "omnieval", "--out", str(out)]
    assert judge_training(training) == 0


def killed(folder: Path) -> None:
    """Return a store with everything that killed processes leave behind."""
    swept(folder)
    store = store_of(folder)
    (store.root / "tmp" / "half").mkdir()
    (store.root / "locks" / f"{'ab' * 32}.lock").symlink_to("a-host-1-0123456789abcdef:01234567")
    (store.root / "locks" / f"{'cd' * 32}.lock").write_text("a-host-1-0123456789abcdef:01234567")
    (store.root / "locks" / f"{'ef' * 32}.lock").touch()
    (store.root / "locks" / f".{'0' * 32}").symlink_to("a-host-1-0123456789abcdef:01234567")
    (store.root / "locks" / "a-folder.lock").mkdir()
    (store.root / "locks" / "bytes.lock").write_bytes(b"\xff\x00" * 3)
    (store.root / "writers" / "a-host-1-0123456789abcdef").write_text("another kernel")
    (store.root / "runs").mkdir(exist_ok=True)
    (store.root / "runs" / "cut.json").write_text("{")
    (store.workspace("dd" * 32) / "0.npy").write_bytes(b"x")


WRITERS: dict[str, Callable[[Path], None]] = {
    "sweep": swept,
    "generate": generated,
    "judge_agreement": agreed,
    "export": exported,
    "the commands that read": read_by_all,
    "killed": killed,
}


@pytest.fixture(params=list(WRITERS))
def written(request: pytest.FixtureRequest, make_once: MakeOnce, tmp_path: Path) -> Path:
    """A copy of a store that a command wrote, all of whose files are two days old."""
    source = make_once(f"store-of-{request.param}".replace(" ", "-"), WRITERS[request.param])
    root = shutil.copytree(store_of(source).root, tmp_path / "store", symlinks=True)
    two_days_ago = time.time() - 2 * 86_400
    for path in root.rglob("*"):
        os.utime(path, (two_days_ago, two_days_ago), follow_symlinks=False)
    return root


def content(root: Path) -> dict[str, bytes]:
    """All files of results and replies."""
    names = ("entries", "replies", "pair_scores", "workspaces")
    return {str(path): path.read_bytes() for name in names for path in (root / name).rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
def test_store_commands_handle_the_files_of_every_command(
    written: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(written)
    locked = {path.name for path in (written / "locks").iterdir() if not path.is_symlink() and path.is_file()}
    kinds = sorted({path.name for path in (written / "entries").iterdir()} or {"replies"})
    arguments = [word.replace("STAGE", kinds[0]) for word in COMMANDS[command]]
    assert main(["--store-dir", str(written), *arguments]) == 0
    assert capsys.readouterr().err == ""
    if command in READING:
        assert content(written) == before
    if command == "prune all":
        assert [path for path in content(written) if not path.startswith(str(written / "replies"))] == []
    if command in ("prune", "prune all"):
        left = {path.name for path in (written / "locks").iterdir() if path.is_file()}
        assert left == {name for name in locked if not name.startswith("cd")}  # empty ones are the system's
    assert main(["--store-dir", str(written), "verify"]) == 0
    assert main(["--store-dir", str(written), *arguments[:1]]) == 0


def test_prune_keeps_a_lock_that_the_system_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path / "store")
    path = store.root / "locks" / "set-0123.lock"
    with hold_lock(path, "writing a set"):
        node = path.stat().st_ino
        os.utime(path, (0, 0))
        for option in ("--dry-run", "--older-than-days=0"):
            assert main(["--store-dir", str(store.root), "prune", option]) == 0
        assert path.stat().st_ino == node
    assert "0 leftovers" in capsys.readouterr().out


def test_store_commands_handle_the_objects_of_every_command_in_a_bucket(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    address = bucket.address(uuid.uuid4().hex)
    where = (f"run.store_dir={address}", f"run.cache_dir={tmp_path / 'cache'}")
    swept(tmp_path, *where)
    generated(tmp_path, *where)
    agreed(tmp_path, *where)
    with quick_exports():
        assert export(tmp_path, "top_k=2", tmp_path / "whole") == 0
    for name in sorted(COMMANDS, key=lambda name: name not in READING):
        capsys.readouterr()
        arguments = [word.replace("STAGE", "chunks") for word in COMMANDS[name]]
        code = main(["--store-dir", address, *arguments])
        told = capsys.readouterr()
        # A kind that was pruned completely is unknown, and the message lists the known kinds.
        assert code == 0 or (code == 2 and "expected one of" in told.err), (name, told)
    assert main(["--store-dir", address, "verify"]) == 0
    assert "0 results" in capsys.readouterr().out
