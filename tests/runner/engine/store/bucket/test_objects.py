import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from components.errors import StoreError
from runner.engine.store.bucket import objects as objects_module
from runner.engine.store.bucket.objects import Objects
from tests.buckets import Bucket


@pytest.fixture
def objects(address: str) -> Objects:
    return Objects(address, patience_s=0.2)


def test_exactly_one_of_many_concurrent_creations_succeeds(objects: Objects) -> None:
    start = threading.Barrier(16)

    def put(number: int) -> bool:
        start.wait()
        return objects.create("one", str(number).encode()) is not None

    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(put, range(16)))
    assert sum(won) == 1
    stored = objects.get("one")
    assert stored is not None
    assert stored.contents == str(won.index(True)).encode()


def test_object_changed_by_another_writer_is_not_replaced(objects: Objects) -> None:
    tag = objects.create("one", b"1") or ""
    newer = objects.replace("one", b"2", tag)
    assert newer
    assert objects.replace("one", b"3", tag) is None
    assert objects.replace("none", b"3", tag) is None
    stored = objects.get("one")
    assert stored is not None
    assert stored.contents == b"2"


def test_missing_objects_are_read_as_none(objects: Objects, tmp_path: Path) -> None:
    assert objects.get("none") is None
    assert objects.head("none") is None
    assert objects.get_range("none", 0, 1) is None
    assert objects.list_objects("none") == []
    assert not objects.download("none", 10, tmp_path / "file")
    objects.delete(["none"])


@pytest.mark.parametrize("n_bytes", [0, 3, 10, 15, 20])
def test_truncated_object_is_not_a_service_failure(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    """No process waits for the bucket to return."""
    monkeypatch.setattr(objects_module, "_PIECE_BYTES", 10)
    objects.put("cut", b"x" * n_bytes)
    assert not objects.download("cut", 25, tmp_path / "file")
    assert b"".join(objects.pieces("cut", 25)) == b"x" * n_bytes


def test_absurd_object_size_does_not_cause_a_request_per_piece(
    objects: Objects, bucket: Bucket, tmp_path: Path
) -> None:
    objects.put("small", b"x" * 100)
    bucket.forget_requests()
    assert not objects.download("small", 1 << 61, tmp_path / "file")
    assert b"".join(objects.pieces("small", 1 << 61)) == b"x" * 100
    assert len(bucket.requests) < 250


def test_listing_and_deletion_cover_all_pages(
    objects: Objects, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.list_in_pages_of(10)
    monkeypatch.setattr(objects_module, "_MAX_DELETED_TOGETHER", 10)
    for number in range(15):
        objects.put(f"many/{number}", b"")
    objects.put("manyfold/1", b"")
    bucket.forget_requests()
    paths = [each.path for each in objects.list_objects("many")]
    assert sorted(paths) == sorted(f"many/{number}" for number in range(15))
    objects.delete(paths)
    assert len(bucket.requests) == 4
    assert objects.list_objects("many") == []


def test_large_files_are_transferred_in_pieces(
    objects: Objects, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects_module, "_PIECE_BYTES", 5 << 20)  # the least that S3 takes
    contents = bytes(range(256)) * (11 << 12) + b"the end"
    (tmp_path / "file").write_bytes(contents)
    objects.upload("large", tmp_path / "file")
    assert sum(method == "PUT" for method, _ in bucket.requests) == 3
    bucket.forget_requests()
    assert objects.download("large", len(contents), tmp_path / "copy")
    assert len(bucket.requests) == 3
    assert (tmp_path / "copy").read_bytes() == contents
    assert not objects.download("large", len(contents) + 1, tmp_path / "copy")


def test_unresponsive_bucket_is_named_after_its_patience(
    bucket: Bucket, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        gone = Objects(address, patience_s=0.5)
        began = time.monotonic()
        with pytest.raises(StoreError, match=r"cannot read store.json: .*finished work is cached") as raised:
            gone.get("store.json")
    assert 0.2 < time.monotonic() - began < 10
    assert "\n" not in str(raised.value)


def test_silent_bucket_is_reported_while_it_is_tried_again(
    bucket: Bucket, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(objects_module, "_OBSTORE_RETRIES_S", 0.1)
    with pytest.raises(StoreError):
        Objects(address, patience_s=1.0).get("store.json")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"{address}: cannot read store.json, trying again for up to 1 s: ")


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", " "])
def test_setting_of_a_bucket_with_a_line_end_is_named(
    bucket: Bucket, address: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", f"IQoJb3JpZ2lu{end}")
    with pytest.raises(StoreError, match="the variable AWS_SESSION_TOKEN ends with a line break or a space") as raised:
        Objects(address)
    assert "IQoJ" not in str(raised.value)


@pytest.mark.parametrize("endpoint", ["http://localhost:99999", "http://localhost:port", "http://[::1:9000"])
def test_unusable_endpoint_is_one_error(
    bucket: Bucket, address: str, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(StoreError, match=r"AWS_ENDPOINT_URL|cannot be used"):
        Objects(address, patience_s=0.1).get("store.json")


def test_missing_bucket_is_reported_by_name(bucket: Bucket) -> None:
    with pytest.raises(StoreError, match=r"there is no bucket s3://no-such-bucket. Create it"):
        Objects("s3://no-such-bucket/prefix", patience_s=0.1).create("one", b"1")
