"""A sweep whose store is a bucket: equal metrics, few requests, and none of them repeated."""

from collections import Counter
from pathlib import Path

import pytest

from components.errors import ConfigError, StoreError
from runner.launch.request import check_jobs
from runner.launch.sweep import EXIT_CELL_FAILED, start_sweep
from runner.results import read_cells
from tests.buckets import Bucket
from tests.extras import skip_without
from tests.runner.sweeping import FEW_METRICS, RANKING_ONLY, SWEEP_ID, run_small, small_job

CELLS = [(*FEW_METRICS, f"chunk.size={size}", f"top_k={k}") for size in (64, 128) for k in (2, 4)]


def run(folder: Path, *overrides: str) -> None:
    assert run_small(folder, *((*cell, *overrides) for cell in CELLS)) == 0


def metrics(folder: Path) -> list[dict[str, object]]:
    return [dict(cell.metrics) for cell in read_cells(folder / "results" / SWEEP_ID)]


def n_stages(folder: Path) -> int:
    return len(list((folder / "results" / "cache").glob("*/entries/*/*/*/manifest.json")))


def test_bucket_sweep_equals_a_folder_sweep_with_few_requests(tmp_path: Path, bucket: Bucket) -> None:
    there = f"run.store_dir={bucket.address('sweep')}"
    run(tmp_path / "folder")
    run(tmp_path / "first", there)
    assert metrics(tmp_path / "first") == metrics(tmp_path / "folder")
    assert n_stages(tmp_path / "first") >= 20
    assert len(bucket.requests) <= 6 * n_stages(tmp_path / "first")

    # Again: one listing, the check of conditional writes, and the records that the sweep plans and then runs.
    bucket.forget_requests()
    run(tmp_path / "first", there)
    assert metrics(tmp_path / "first") == metrics(tmp_path / "folder")
    written = [path for method, path in bucket.requests if method == "PUT"]
    assert {path.split("/")[1] for path in written} == {"writers", "runs", "store.json"}
    # A slow machine sends more heartbeats.
    assert len([path for _, path in bucket.requests if not path.startswith("sweep/writers/")]) <= 8

    # Another host makes nothing, and asks for each result that it needs once.
    bucket.forget_requests()
    run(tmp_path / "second", there)
    assert metrics(tmp_path / "second") == metrics(tmp_path / "folder")
    counts = Counter(path for method, path in bucket.requests if "/entries/" in path)
    assert set(counts.values()) == {1}
    assert not [path for method, path in bucket.requests if method == "PUT" and "/entries/" in path]


def test_slurm_jobs_compute_all_stages_in_a_bucket(tmp_path: Path, bucket: Bucket) -> None:
    skip_without("submitit", extra="slurm")
    cell = RANKING_ONLY
    jobs = ("executor=slurm", "executor.cluster=local", f"run.store_dir={bucket.address('jobs')}")
    for folder, overrides in (tmp_path / "folder", cell), (tmp_path / "jobs", (*cell, *jobs)):
        assert run_small(folder, overrides) == 0
    assert metrics(tmp_path / "jobs") == metrics(tmp_path / "folder")
    stored = [path for method, path in bucket.requests if method == "PUT" and "/entries/" in path]
    assert len(stored) == n_stages(tmp_path / "jobs") >= 5


def test_bucket_failure_during_a_sweep_keeps_finished_stages(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("runner.engine.store.bucket.bucket_opening.PATIENCE_S", 0.2)
    bucket.fail_after(60)
    there = f"run.store_dir={bucket.address('going')}"
    overrides = [(*cell, there) for cell in CELLS]
    assert run_small(tmp_path, *overrides) == EXIT_CELL_FAILED
    told = capsys.readouterr().err
    assert told.count("finished work is cached") == 1
    assert "Traceback" not in told
    n_stored = sum(method == "PUT" and "/entries/" in path for method, path in bucket.requests[:60])
    assert n_stored >= 10
    bucket.fail_after(float("inf"))
    bucket.forget_requests()
    run(tmp_path, there)
    n_made = sum(method == "PUT" and "/entries/" in path for method, path in bucket.requests)
    assert n_made == n_stages(tmp_path) - n_stored


def test_bucket_address_with_a_key_is_rejected_and_hidden(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"run\.store_dir: contains a user name or password, a key or a token"
    ) as raised:
        check_jobs([small_job(tmp_path, "run.store_dir='s3://key:secret@bucket/prefix'")])
    assert "secret" not in str(raised.value)


def test_missing_bucket_is_reported_before_any_work(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.engine.store.bucket.bucket_opening._FIRST_PATIENCE_S", 0.2)
    with pytest.raises(StoreError, match=r"there is no bucket s3://no-such-bucket. Create it"):
        start_sweep([small_job(tmp_path, "run.store_dir=s3://no-such-bucket/prefix")], SWEEP_ID, ())
    assert not (tmp_path / "results" / "cache").exists()
