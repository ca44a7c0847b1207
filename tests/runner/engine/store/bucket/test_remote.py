"""The store in a bucket, as seen by hosts that share only the bucket. Each host has a separate cache."""

import logging
import os
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from components.errors import ConfigError, DamagedEntryError, StoreError
from components.fields import runtime_only
from components.records import Answer, AnswerState
from runner.engine.store import Store, StoredResult, open_named_store, open_store
from runner.engine.store.bucket import bucket_opening as opening
from runner.engine.store.bucket import packing
from runner.engine.store.bucket.bucket_results import BucketRemote
from runner.engine.store.bucket.objects import Objects
from runner.engine.worker import Worker
from tests.buckets import Bucket
from tests.runner.engine.fake_stages import Adder, Sum

KIND, KEY = "vectors", "ab" * 32
OBJECT = f"entries/{KIND}/ab/{KEY}"
LARGE = np.arange(60_000, dtype=np.float32)

Host = Callable[..., Store]


@pytest.fixture
def host(address: str, tmp_path: Path) -> Host:
    def opened(name: str, run_id: str = "a run") -> Store:
        return open_store(address, str(tmp_path / name), run_id)

    return opened


@pytest.fixture
def objects(address: str) -> Objects:
    return Objects(address, patience_s=1)


@pytest.fixture
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_MAX_FILE_BYTES", 1 << 16)


def write(store: Store, value: float = 1.0, *, partial: bool = False) -> StoredResult:
    payload = {"vectors": np.full(8, value, dtype=np.float32), "facts": {"n": 8}}
    return store.write(KIND, KEY, payload, seconds=1.5, made_from={"stage": KIND}, partial=partial)


def value_of(entry: StoredResult | None) -> float:
    assert entry is not None
    return float(entry.part("vectors")[0])


class TestOneResult:
    def test_bucket_result_is_found_by_another_host(self, host: Host) -> None:
        written = write(host("a"))
        assert written.is_new
        found = host("b").find(KIND, KEY)
        assert found is not None
        assert found.manifest == written.manifest
        assert found.damages() == []
        assert found.part("facts") == {"n": 8}
        assert value_of(found) == 1.0

    def test_first_host_wins_and_the_second_learns_of_the_stored_result(self, host: Host, objects: Objects) -> None:
        first, second = host("a"), host("b")
        assert second.find(KIND, KEY) is None
        write(first, 1.0)
        entry = write(second, 2.0)
        assert not entry.is_new
        assert value_of(entry) == value_of(second.find(KIND, KEY)) == value_of(host("c").find(KIND, KEY)) == 1.0
        assert [each.path for each in objects.list_objects("entries")] == [OBJECT]

    def test_all_hosts_see_one_of_many_concurrent_results(self, host: Host) -> None:
        hosts = [host(f"host{number}") for number in range(8)]
        start = threading.Barrier(8)

        def put(number: int) -> tuple[bool, float]:
            start.wait()
            entry = write(hosts[number], float(number))
            return entry.is_new, value_of(entry)

        with ThreadPoolExecutor(8) as pool:
            ended = list(pool.map(put, range(8)))
        assert sum(is_new for is_new, _ in ended) == 1
        assert len({value for _, value in ended}) == 1

    def test_partial_result_is_found_only_by_its_run(self, host: Host) -> None:
        write(host("a", "one run"), partial=True)
        assert value_of(host("b", "one run").find(KIND, KEY)) == 1.0
        assert host("c", "another run").find(KIND, KEY) is None
        assert not host("c", "another run").is_cached(KIND, KEY)

    def test_pickled_bucket_store_opens_in_workers_without_its_secret(self, host: Host) -> None:
        store = host("a")
        write(store)
        handed = pickle.loads(pickle.dumps(store))
        assert (handed.root, handed.run_id) == (store.root, store.run_id)
        assert b"nothing" not in pickle.dumps(store)  # the secret of the environment
        assert value_of(handed.find(KIND, KEY)) == 1.0

    def test_cache_of_one_bucket_is_not_used_for_another(
        self, host: Host, objects: Objects, bucket: Bucket, tmp_path: Path
    ) -> None:
        write(host("a"))
        other = open_store(bucket.address("another"), str(tmp_path / "a"))
        assert other.find(KIND, KEY) is None
        objects.delete([each.path for each in objects.list_objects("")])  # the bucket is emptied and used again
        assert host("a").find(KIND, KEY) is None


class TestRequests:
    def test_plan_lists_a_kind_in_the_bucket_only_once(self, host: Host, bucket: Bucket) -> None:
        write(host("a"))
        store = host("b")
        bucket.forget_requests()
        assert store.is_cached(KIND, KEY)
        assert not any(store.is_cached(KIND, f"{number:064}") for number in range(100))
        listed = [path.removesuffix("%2F").rpartition("%2F")[2] for _, path in bucket.requests]
        assert listed == ["entries"]

    def test_cached_results_cause_no_requests(self, host: Host, bucket: Bucket) -> None:
        write(host("a"))
        again = host("a")
        bucket.forget_requests()
        assert value_of(again.find(KIND, KEY)) == 1.0
        assert bucket.requests == []

    def test_new_bucket_result_takes_four_requests(self, host: Host, bucket: Bucket) -> None:
        worker = Worker(host("a"))
        worker.run(Sum(Adder(1)))
        bucket.forget_requests()
        worker.run(Sum(Adder(2)))
        assert [method for method, _ in bucket.requests] == ["GET", "PUT", "PUT", "POST"]

    def test_existing_bucket_result_is_fetched_with_one_request(self, host: Host, bucket: Bucket) -> None:
        worker, other = Worker(host("a")), Worker(host("b"))
        worker.run(stage := Sum(Adder(1)))
        bucket.forget_requests()
        assert other.run(stage).reused
        assert [method for method, _ in bucket.requests] == ["GET"]


@dataclass(frozen=True)
class PaidAdder(Adder):
    api_key_env: str = runtime_only("A_KEY", "a key gives access")


class TestPaidWork:
    def test_paid_result_of_another_host_is_reused(self, host: Host, tmp_path: Path) -> None:
        calls = tmp_path / "calls"
        stage = Sum(PaidAdder(1, calls=str(calls)))
        first, second = host("a"), host("b")
        assert not second.is_cached(stage.kind, stage.key)  # as the plan looks, a moment before
        assert second.find(stage.kind, stage.key) is None
        assert not Worker(first).run(stage).reused
        assert Worker(second).run(stage).reused
        assert calls.read_text().splitlines() == ["sum"]

    def test_next_lock_holder_finds_replies_of_a_failed_stage(self, host: Host) -> None:
        first, second = host("a"), host("b")
        assert second.replies(KEY).get_all(["1"]) == {}
        with suppress(ValueError), first.lock(KIND, KEY, from_stopped=False):
            first.replies(KEY).add("1", Answer("", AnswerState.OK, "so", n_prompt_tokens=None))
            raise ValueError("a stage that fails")
        with second.lock(KIND, KEY, from_stopped=False):
            assert list(second.replies(KEY).get_all(["1"])) == ["1"]

    def test_next_lock_holder_finds_pair_scores(self, host: Host) -> None:
        pairs = np.array([[0, 0]], dtype=np.int32)
        first, second = host("a"), host("b")
        assert np.isnan(second.pair_scores(KEY).look_up(["a query"], pairs)).all()
        with first.lock("scores of pairs", KEY, from_stopped=False):
            first.pair_scores(KEY).add(["a query"], pairs, np.ones(1, dtype=np.float32))
        with second.lock("scores of pairs", KEY, from_stopped=False):
            assert second.pair_scores(KEY).look_up(["a query"], pairs).tolist() == [1.0]


class TestDamage:
    def test_damaged_cache_is_repaired_from_the_bucket(self, host: Host) -> None:
        store = host("a")
        folder = write(store).folder
        (folder / "facts.json").write_text("damaged")
        (folder / "vectors.npy").unlink()
        found = host("a").find(KIND, KEY)
        assert found is not None
        assert value_of(found) == 1.0
        assert found.damages(contents=True) == []

    def test_damaged_bucket_result_is_computed_again_and_replaced(
        self, host: Host, objects: Objects, caplog: pytest.LogCaptureFixture
    ) -> None:
        write(host("a"))
        objects.put(OBJECT, (objects.get(OBJECT) or pytest.fail("none")).contents[:-1])
        store = host("b")
        with caplog.at_level(logging.WARNING):
            assert store.find(KIND, KEY) is None
            assert store.find(KIND, KEY) is None
        assert caplog.text.count("damaged") == 1
        assert write(store, 2.0).is_new
        assert value_of(host("c").find(KIND, KEY)) == 2.0

    def test_result_repaired_by_another_host_remains(self, host: Host, objects: Objects) -> None:
        write(host("a"))
        objects.put(OBJECT, b"damaged")
        first, second = host("b"), host("c")
        assert first.find(KIND, KEY) is None
        assert second.find(KIND, KEY) is None
        write(first, 2.0)
        entry = write(second, 3.0)
        assert not entry.is_new
        assert value_of(entry) == 2.0

    def test_unnoticed_damaged_object_is_replaced_by_a_new_result(self, host: Host, objects: Objects) -> None:
        objects.put(OBJECT, b"")
        assert write(host("a")).is_new
        assert value_of(host("b").find(KIND, KEY)) == 1.0

    def test_manifest_of_another_result_is_ignored(self, host: Host, objects: Objects) -> None:
        write(host("a"))
        other = "ab" + "cd" * 31
        objects.put(f"entries/{KIND}/ab/{other}", (objects.get(OBJECT) or pytest.fail("none")).contents)
        store = host("b")
        assert store.find(KIND, other) is None
        assert store.write(KIND, other, {"n": 1}, seconds=0, made_from={}).is_new

    def test_pruned_results_leave_the_caches_with_the_next_plan(self, host: Host, objects: Objects) -> None:
        write(host("a"))
        objects.delete([OBJECT])
        folder = host("a").folder(KIND, KEY)
        os.utime(folder / ".tag", (0, 0))  # kept before this look at the bucket, and not in the same moment
        store = host("a")
        assert not store.is_cached(KIND, KEY)
        assert store.find(KIND, KEY) is None
        assert write(store, 2.0).is_new

    def test_worker_recomputes_a_result_with_a_damaged_object(self, host: Host, objects: Objects) -> None:
        stage = Sum(Adder(3))
        Worker(host("a")).run(stage)
        (path,) = [each.path for each in objects.list_objects("entries")]
        objects.put(path, b"damaged")
        assert not Worker(store := host("b")).run(stage).reused
        assert (store.find(stage.kind, stage.key) or pytest.fail("none")).part("number") == 3


@pytest.mark.usefixtures("_small_is_large")
class TestLargeFiles:
    def written(self, store: Store, array: np.ndarray = LARGE) -> StoredResult:
        return store.write(KIND, KEY, {"vectors": array, "facts": {"n": 8}}, seconds=1.5, made_from={})

    def test_large_files_are_downloaded_on_access(self, host: Host, bucket: Bucket) -> None:
        self.written(host("a"))
        store = host("b")
        bucket.forget_requests()
        entry = store.find(KIND, KEY)
        assert entry is not None
        assert entry.damages(contents=False) == []
        assert entry.part("facts") == {"n": 8}
        assert len(bucket.requests) == 1
        assert not (entry.folder / "vectors.npy").exists()
        np.testing.assert_array_equal(entry.part("vectors"), LARGE)
        assert len(bucket.requests) == 2
        assert sorted(path.name for path in entry.folder.iterdir()) == [
            ".tag",
            "facts.json",
            "manifest.json",
            "vectors.npy",
        ]

    @pytest.mark.parametrize("how", ["gone", "cut", "other"])
    def test_damaged_large_file_causes_recomputation(self, host: Host, objects: Objects, how: str) -> None:
        self.written(host("a"))
        (large,) = objects.list_objects("parts")
        objects.delete([large.path])
        if how != "gone":
            objects.put(large.path, b"x" * (large.n_bytes - (how == "cut")))
        store = host("b")
        entry = store.find(KIND, KEY)
        assert entry is not None
        with pytest.raises(DamagedEntryError, match=r"vectors\.npy"):
            entry.part("vectors")
        assert entry.damages() != []
        store.discard(entry)
        assert self.written(store, LARGE + 1).is_new
        found = host("c").find(KIND, KEY)
        assert found is not None
        np.testing.assert_array_equal(found.part("vectors"), LARGE + 1)

    def test_large_files_of_the_second_writer_are_removed(self, host: Host, objects: Objects) -> None:
        first, second = host("a"), host("b")
        self.written(first)
        (remaining,) = objects.list_objects("parts")
        entry = self.written(second, LARGE + 1)
        assert [each.path for each in objects.list_objects("parts")] == [remaining.path]
        np.testing.assert_array_equal(entry.part("vectors"), LARGE)
        self.written(host("c"))  # the same contents: the first's, and not to be removed
        assert [each.path for each in objects.list_objects("parts")] == [remaining.path]


class TestABucketThatGoesAway:
    @pytest.fixture
    def gone(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        monkeypatch.setattr(opening, "_FIRST_PATIENCE_S", 0.2)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{unused.getsockname()[1]}"

    def test_unavailable_bucket_is_reported_before_any_work(
        self, host: Host, gone: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", gone)
        with pytest.raises(StoreError, match="AWS_ENDPOINT_URL"):
            host("a")

    def test_missing_access_key_is_reported(self, host: Host, gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", gone)
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")  # else the key is sought in the network
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        with pytest.raises(StoreError, match="AWS_ACCESS_KEY_ID is not set"):
            host("a")

    def test_missing_bucket_is_named_when_the_store_opens(self, bucket: Bucket, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match=r"^s3://nobody/prefix: there is no bucket s3://nobody. Create it, or"):
            open_store("s3://nobody/prefix", str(tmp_path))

    def test_computed_results_are_sent_by_the_next_run(
        self, host: Host, gone: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
    ) -> None:
        opened = host("a")
        monkeypatch.setenv("AWS_ENDPOINT_URL", gone)
        store = Store(opened.root, "a run", BucketRemote(address, opened.root, patience_s=0.2))
        with pytest.raises(StoreError, match="finished work is cached"):
            write(store)
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
        again = host("a", "the next run")
        assert again.is_cached(KIND, KEY)
        assert value_of(again.find(KIND, KEY)) == 1.0
        assert value_of(host("b").find(KIND, KEY)) == 1.0

    def test_result_computed_elsewhere_during_an_outage_remains(
        self, host: Host, gone: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        opened = host("a")
        monkeypatch.setenv("AWS_ENDPOINT_URL", gone)
        with pytest.raises(StoreError):
            write(Store(opened.root, "a run", BucketRemote(address, opened.root, patience_s=0.2)))
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
        write(host("b"), 2.0)
        assert value_of(host("a").find(KIND, KEY)) == 2.0


def test_store_address_with_credentials_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.store_dir: contains a user name") as raised:
        open_store("s3://key:secret@bucket/prefix", str(tmp_path))
    assert "secret" not in str(raised.value)


def test_store_description_damaged_in_transit_is_not_written_back(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This service also ignores conditional writes, so the check for them overwrites the description."""
    open_store(address, str(tmp_path), "a run")
    whole = Objects(address).get("store.json")
    assert whole
    monkeypatch.setattr(Objects, "create", Objects.put)
    with monkeypatch.context() as damaged:
        damaged.setattr(Objects, "get", lambda objects, path: replace(whole, contents=whole.contents[:9]))
        with pytest.raises(StoreError, match="not a store's description"):
            open_store(address, str(tmp_path), "a run")
    found = Objects(address).get("store.json")
    assert found
    assert found.contents == whole.contents


def test_service_without_conditional_writes_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Objects, "create", Objects.put)
    for _ in range(2):  # the first attempt created the store
        with pytest.raises(StoreError, match="it ignores If-None-Match"):
            open_store(address, str(tmp_path), "a run")
    open_store(address, str(tmp_path))  # a reader


def test_bucket_that_results_name_is_cached_next_to_them(address: str, tmp_path: Path) -> None:
    """Somebody else's results must not choose where we write."""
    with pytest.raises(StoreError, match="contains no store"):
        open_named_store(address, str(tmp_path / "chosen"), tmp_path)
    assert not Objects(address).list_objects("")
    name = open_store(address, str(tmp_path / "own"), "a run").root.name
    assert open_named_store(address, str(tmp_path / "chosen"), tmp_path).root == tmp_path / "cache" / name
    assert open_named_store(address, str(tmp_path / "own"), tmp_path).root == tmp_path / "own" / name


@pytest.mark.parametrize(
    "link",
    [
        "cache",
        "cache/NAME",
        "cache/NAME/entries",
        "cache/NAME/entries/corpus/th",
        "cache/NAME/unsent/corpus",
        "cache/NAME/unsent/corpus/a-key/a.json",
    ],
)
@pytest.mark.parametrize("cache", ["cache", "chosen"])
def test_link_in_a_received_cache_is_refused(link: str, cache: str, address: str, tmp_path: Path) -> None:
    """A download would replace the reader's folder that the link points to, and its `unsent` would be uploaded."""
    name = open_store(address, str(tmp_path / "own"), "a run").root.name
    received, victim = tmp_path / "received", tmp_path / "victim"
    (victim / name).mkdir(parents=True)
    place = received / link.replace("NAME", name).replace("cache", cache, 1)
    place.parent.mkdir(parents=True)
    place.symlink_to(victim)
    with pytest.raises(StoreError, match="is a symbolic link"):
        open_named_store(address, str(received / "chosen"), received)
    assert [path.name for path in victim.rglob("*")] == [name]


@pytest.mark.parametrize(("kind", "key"), [("corpus", "aa/../../../runner"), ("..", "aa"), ("corpus", "")])
def test_key_that_leads_out_of_the_store_is_refused(host: Host, kind: str, key: str) -> None:
    with pytest.raises(StoreError, match="expected a kind and a key"):
        host("a").find(kind, key)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (b"[]", "not a store's"),
        (b'{"format": 99, "name": "0123456789abcdef"}', "Upgrade"),
        (b'{"format": 3, "name": "../../elsewhere"}', "not a store's"),
    ],
)
def test_bucket_with_another_description_is_refused_and_unchanged(
    address: str, objects: Objects, tmp_path: Path, described: bytes, expected: str
) -> None:
    objects.put("store.json", described)
    with pytest.raises(StoreError, match=expected):
        open_store(address, str(tmp_path))
    assert len(objects.list_objects("")) == 1
