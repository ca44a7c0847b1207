"""The commands for a store in a bucket."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from components.records import Answer, AnswerState
from runner.engine.store import Store, open_store
from runner.engine.store.bucket import packing
from runner.engine.store.bucket.maintenance import BucketMaintenance
from runner.engine.store.bucket.objects import Objects
from runner.engine.store.stored_blocks import write_block
from runner.store import main
from tests.buckets import Bucket

KEYS = ["aa" * 32, "bb" * 32]


@pytest.fixture
def address(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(packing, "_MAX_FILE_BYTES", 1 << 12)
    return bucket.address(uuid.uuid4().hex)


@pytest.fixture
def store(address: str, tmp_path: Path) -> Store:
    """Two results, one of them partial, the other with a large file."""
    store = open_store(address, str(tmp_path / "cache"), "a run")
    store.write("chunks", KEYS[0], {"data": np.zeros(5000)}, seconds=1.25, made_from={})
    store.write("answers", KEYS[1], {"data": b"y"}, seconds=2.0, made_from={}, partial=True)
    store.replies("cc" * 32).add("1", Answer("1", AnswerState.OK, "so"))
    store.write("prompts", KEYS[0], {"data": b"y"}, seconds=0.5, made_from={})
    return store


@pytest.fixture
def run(address: str, store: Store) -> Callable[..., int]:
    return lambda *arguments: main(["--store-dir", address, *arguments])


Run = Callable[..., int]


def test_ls_lists_results_in_a_bucket(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ls") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line[:3] == ["answers", "1", "1"]][0][-1] == "2.0"  # noqa: RUF015
    assert [line for line in lines if line[:3] == ["chunks", "1", "0"]][0][-2:] == ["KiB", "1.2"]  # noqa: RUF015
    assert "3 results, replies in 1 folder (one per model and purpose)".split() in lines


def test_verify_finds_damage_in_a_bucket(
    run: Run, address: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("verify") == 0
    assert "3 results and all replies with their checksums: 0 damaged" in capsys.readouterr().out
    objects = Objects(address)
    (large,) = objects.list_objects("parts")
    objects.put(large.path, b"x" * large.n_bytes)
    objects.put(f"entries/prompts/aa/{KEYS[0]}", b"damaged")
    assert run("verify") == 1
    told = capsys.readouterr().out
    assert "damaged: chunks aaaaaaaaaaaa: data.npy is missing, or does not match its checksum" in told
    assert "damaged: prompts aaaaaaaaaaaa: incomplete" in told
    assert run("verify", "--delete") == 0
    assert run("verify") == 0
    assert objects.list_objects("parts") == []


def test_verify_counts_damaged_replies_in_a_bucket(
    run: Run, address: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = Objects(address)
    replies = next(each for each in objects.list_objects("replies") if each.n_bytes)
    whole = objects.get(replies.path)
    assert whole
    objects.put(replies.path, whole.contents[:-5])
    assert run("verify") == 1
    output = "".join(capsys.readouterr().out.splitlines())
    assert f"damaged: {replies.path}: 1 reply is incomplete or damaged" in output
    assert run("verify", "--delete") == 0
    assert run("verify") == 0


def test_verify_finds_damaged_scores_of_pairs_in_a_bucket(
    run: Run, address: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = Objects(address)
    block = write_block(tmp_path / "pairs", "7", np.arange(9.0))
    path = f"pair_scores/{KEYS[0]}/{block.name}"
    objects.put(path, block.read_bytes())
    objects.put(f"pair_scores/{KEYS[0]}/.keep", b"")
    assert run("verify") == 0
    objects.put(path, block.read_bytes()[:-1])
    assert run("verify") == 1
    assert f"damaged: {path} does not match its checksum" in "".join(capsys.readouterr().out.splitlines())
    assert run("verify", "--delete") == 0
    assert path not in [each.path for each in objects.list_objects("pair_scores")]


def test_foreign_objects_in_the_bucket_are_ignored(run: Run, address: str, store: Store) -> None:
    """The store contains folders, as consoles make them, and the remains of a broken tool."""
    objects = Objects(address)
    for path in (
        "entries",
        "entries/chunks",
        "entries/chunks/aa/x/y",
        "partial/x",
        "parts/x",
        "replies/x",
        "writers/x",
    ):
        objects.put(path, b"")
    objects.put("runs/x", b"{")
    assert [run("ls"), run("verify"), run("prune", "--dry-run")] == [0, 0, 0]
    assert [entry.manifest.key for entry in store.entries("chunks")] == [KEYS[0]]


def test_verify_compares_object_sizes(run: Run, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    objects = Objects(address)
    path = f"entries/chunks/aa/{KEYS[0]}"
    found = objects.get(path)
    assert found is not None
    (large,) = objects.list_objects("parts")
    manifest = found.contents[8:].replace(f", {large.n_bytes}]".encode(), b", 999999999]")
    objects.put(path, len(manifest).to_bytes(8, "big") + manifest)
    assert run("verify") == 1
    assert "data.npy is missing, or does not match its checksum" in capsys.readouterr().out


def test_prune_removes_results_in_a_bucket(
    run: Run, address: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = Objects(address)
    assert run("prune") == 0
    assert "removed 0 results" in capsys.readouterr().out
    assert run("prune", "--older-than-days", "0", "--dry-run") == 0
    assert "would remove 3 results" in capsys.readouterr().out
    assert run("prune", "--older-than-days", "0", "--stage", "prompts") == 0
    assert [each.path.split("/")[1] for each in objects.list_objects("entries")] == ["chunks"]
    assert run("prune", "--older-than-days", "0", "--stage", "promts") == 2
    assert run("prune", "--older-than-days", "0") == 0
    assert objects.list_objects("entries") == objects.list_objects("parts") == objects.list_objects("partial") == []
    assert len(objects.list_objects("replies")) == 1  # paid for
    assert run("prune", "--older-than-days", "0", "--stage", "replies") == 0
    assert objects.list_objects("replies") == []


def test_bucket_prune_removes_day_old_files_of_killed_processes(
    run: Run, address: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = Objects(address)
    left = {f"locks/{'ab' * 32}": b"a killed process", f"runs/{'cd' * 16}": b"{}", "writers/host-0123": b""}
    for path, contents in left.items():
        objects.put(path, contents)
    folders = ("locks", "runs", "writers")
    assert run("prune") == 0
    assert {each.path for folder in folders for each in objects.list_objects(folder)} >= set(left)
    now = datetime.now(UTC) + timedelta(hours=25)
    monkeypatch.setattr(BucketMaintenance, "now", now)
    assert run("prune") == 0
    assert not {each.path for folder in folders for each in objects.list_objects(folder)} & set(left)


def test_bucket_prune_merges_the_replies_of_ended_processes(
    run: Run, address: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = Objects(address)
    folder = f"replies/{'cc' * 32}"
    (own,) = objects.list_objects(folder)
    own_contents = objects.get(own.path)
    assert own_contents is not None
    for number in range(20):
        objects.put(f"{folder}/ended-{number}/000000", own_contents.contents)
    assert run("prune", "--dry-run") == 0
    assert "would merge 20 reply objects into 1" in capsys.readouterr().out
    assert run("prune") == 0
    assert "merged 20 reply objects into 1" in capsys.readouterr().out
    assert len(objects.list_objects(folder)) == 2, "that of a process that lives stays"
    assert run("prune") == 0
    assert "merged" not in capsys.readouterr().out


def test_bucket_prune_keeps_results_of_running_sweeps(
    run: Run, address: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = Objects(address)
    with store.leases.take("a run", [KEYS[0]]):
        assert run("prune", "--older-than-days", "0") == 0
        assert "a sweep is running, so prune keeps 2 results that it needs" in capsys.readouterr().out
        assert len(objects.list_objects("entries")) == 2
    assert run("prune", "--older-than-days", "0") == 0
    assert objects.list_objects("entries") == []


def test_bucket_prune_keeps_all_results_while_a_sweep_plans(run: Run, address: str, store: Store) -> None:
    objects = Objects(address)
    n_results = len(objects.list_objects("entries"))
    with store.leases.take("a run", None):
        assert run("prune", "--older-than-days", "0") == 0
    assert len(objects.list_objects("entries")) == n_results > 0


def test_killed_run_protects_no_results(run: Run, address: str, store: Store) -> None:
    objects = Objects(address)
    objects.put("runs/killed", b'{"process": "nobody-any-more", "keys": ["%s"]}' % KEYS[0].encode())
    assert run("prune", "--older-than-days", "0") == 0
    assert objects.list_objects("entries") == []


def test_missing_bucket_store_is_reported_and_not_created(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store-dir", address, "ls"]) == 2
    assert "this prefix is not a store" in capsys.readouterr().err
    assert Objects(address).list_objects("") == []


def test_store_command_refuses_an_address_with_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store-dir", "s3://key:secret@bucket", "ls"]) == 2
    assert "secret" not in capsys.readouterr().err
