import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from runner.engine.store.bucket.bucket_locks import hold_bucket_lock
from runner.engine.store.bucket.bucket_writers import BucketWriters
from runner.engine.store.bucket.objects import Objects
from tests.buckets import Bucket, served_bucket

LEASE_S = 0.6


@dataclass
class OnHost:
    """The processes of a host. Those in `gone` have ended."""

    own_name: str
    gone: set[str] = field(default_factory=set)

    def is_gone(self, name: str) -> bool:
        return name in self.gone


MakeWriters = Callable[..., BucketWriters]


@pytest.fixture
def objects(address: str) -> Objects:
    return Objects(address)


@pytest.fixture
def writers_of(objects: Objects) -> MakeWriters:
    def make(host: str, name: str = "process", gone: set[str] | None = None) -> BucketWriters:
        return BucketWriters(objects, OnHost(name, gone or set()), host, LEASE_S)

    return make


def stopped(writers: BucketWriters) -> str:
    """Simulate a process whose threads have stopped: none of its files is removed."""
    name = writers.own_name
    assert writers._heartbeat is not None
    writers._heartbeat._stop.set()
    return name


def test_bucket_lock_is_held_by_one_process_at_a_time(objects: Objects, writers_of: MakeWriters) -> None:
    at_once, most = 0, 0
    counting = threading.Lock()

    def work(writers: BucketWriters) -> None:
        nonlocal at_once, most
        for _ in range(3):
            with hold_bucket_lock(objects, writers, "key", "working"):
                with counting:
                    at_once += 1
                    most = max(most, at_once)
                time.sleep(0.01)
                with counting:
                    at_once -= 1

    threads = [threading.Thread(target=work, args=(writers_of(f"host{number}"),)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert objects.list_objects("locks") == []


def test_bucket_lock_holder_with_a_heartbeat_keeps_its_lock(objects: Objects, writers_of: MakeWriters) -> None:
    with hold_bucket_lock(objects, writers_of("a"), "key", "working"):
        waiting = writers_of("b")
        taken = threading.Event()

        def wait() -> None:
            with hold_bucket_lock(objects, waiting, "key", "working") as lock:
                assert lock.had_holder
                taken.set()

        thread = threading.Thread(target=wait)
        thread.start()
        assert not taken.wait(LEASE_S * 2)
    assert taken.wait(5)
    thread.join()


def test_stopped_holder_loses_its_bucket_lock_within_the_lease(objects: Objects, writers_of: MakeWriters) -> None:
    first, second = writers_of("a"), writers_of("b")
    with hold_bucket_lock(objects, first, "key", "working") as lock:
        assert not lock.had_holder
        stopped(first)
        began = time.monotonic()
        with hold_bucket_lock(objects, second, "key", "working") as lock:
            assert lock.had_holder
            assert LEASE_S < time.monotonic() - began < LEASE_S + 2.5
            assert (objects.get("locks/key") or pytest.fail("nobody holds it")).contents == second.own_name.encode()
            # The first process continues and ends. The second one keeps its lock.
            assert not first.is_heartbeat_fresh
            with pytest.raises(RuntimeError), hold_bucket_lock(objects, first, "another", ""):
                raise RuntimeError
        assert objects.get("locks/key") is None


def test_bucket_lock_holder_stopped_after_a_long_wait_loses_its_lock(objects: Objects, writers_of: MakeWriters) -> None:
    first, second = writers_of("a"), writers_of("b")
    taken = threading.Event()

    def wait() -> None:
        with hold_bucket_lock(objects, second, "key", "working"):
            taken.set()

    with hold_bucket_lock(objects, first, "key", "working"):
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert not taken.wait(LEASE_S * 3)  # pauses between its looks have become long
        stopped(first)
        assert taken.wait(LEASE_S + 2.5)
    thread.join()


def test_bucket_lock_lost_to_another_host_is_not_removed(objects: Objects, writers_of: MakeWriters) -> None:
    first, second = writers_of("a"), writers_of("b")
    with hold_bucket_lock(objects, first, "key", "working"):
        stopped(first)
        time.sleep(LEASE_S)
        objects.put("locks/key", second.own_name.encode())
    assert objects.get("locks/key") is not None


@pytest.mark.parametrize("beats_again", [False, True])
def test_holder_that_slept_notices_that_another_host_took_its_lock(
    beats_again: bool, objects: Objects, writers_of: MakeWriters
) -> None:
    first, second = writers_of("a"), writers_of("b")
    with hold_bucket_lock(objects, first, "key", "working") as lock:
        assert not lock.is_lost()
        stopped(first)
        with hold_bucket_lock(objects, second, "key", "working"):
            if beats_again:  # the thread of the heartbeat may run first when the host wakes
                assert first._heartbeat is not None
                first._heartbeat._beat()
            assert lock.is_lost()
        assert lock.is_lost()


def test_holder_that_slept_does_not_remove_the_lock_of_another(objects: Objects, writers_of: MakeWriters) -> None:
    first, second = writers_of("a"), writers_of("b")
    with hold_bucket_lock(objects, first, "key", "working"):
        stopped(first)
        time.sleep(LEASE_S)
        objects.put("locks/key", second.own_name.encode())
        assert first._heartbeat is not None
        first._heartbeat._beat()
        assert first.is_heartbeat_fresh
    assert objects.get("locks/key") is not None


def test_holder_that_slept_while_nobody_waited_keeps_its_lock(objects: Objects, writers_of: MakeWriters) -> None:
    first = writers_of("a")
    with hold_bucket_lock(objects, first, "key", "working") as lock:
        stopped(first)
        time.sleep(LEASE_S)
        assert not first.is_heartbeat_fresh
        assert not lock.is_lost()


def test_seen_holder_sends_no_request_to_check_its_lock(
    objects: Objects, writers_of: MakeWriters, bucket: Bucket
) -> None:
    with hold_bucket_lock(objects, writers_of("a"), "key", "working") as lock:
        bucket.forget_requests()
        assert not any(lock.is_lost() for _ in range(100))
        assert [each for each in bucket.requests if "locks" in str(each)] == []


def test_bucket_lock_holder_killed_on_this_host_loses_its_lock_immediately(
    objects: Objects, writers_of: MakeWriters
) -> None:
    killed = writers_of("a", "killed")
    objects.put("locks/key", stopped(killed).encode())
    began = time.monotonic()
    with hold_bucket_lock(objects, writers_of("a", "next", {"killed"}), "key", "working"):
        assert time.monotonic() - began < LEASE_S


def test_bucket_lock_holder_without_a_heartbeat_is_dead(objects: Objects, writers_of: MakeWriters) -> None:
    objects.put("locks/key", b"somewhere-something")
    began = time.monotonic()
    with hold_bucket_lock(objects, writers_of("a"), "key", "working"):
        assert time.monotonic() - began < LEASE_S


def test_bucket_lock_is_held_even_if_the_response_was_lost(objects: Objects, writers_of: MakeWriters) -> None:
    own = writers_of("a")
    objects.put("locks/key", own.own_name.encode())
    with hold_bucket_lock(objects, own, "key", "working") as lock:
        assert not lock.had_holder


def test_bucket_lock_costs_two_requests(objects: Objects, writers_of: MakeWriters, bucket: Bucket) -> None:
    own = writers_of("a")
    own.own_name  # noqa: B018 - all locks share one heartbeat
    bucket.forget_requests()
    with hold_bucket_lock(objects, own, "key", "working"):
        pass
    assert [method for method, _ in bucket.requests] == ["PUT", "POST"]


def test_bucket_heartbeat_is_removed_with_its_process(objects: Objects, writers_of: MakeWriters) -> None:
    writers = writers_of("a")
    name = writers.own_name
    assert objects.head(f"writers/{name}") is not None
    del writers
    assert objects.list_objects("writers") == []


def test_ending_process_does_not_wait_for_an_unavailable_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    with served_bucket() as going:
        for name, value in going.environment.items():
            monkeypatch.setenv(name, value)
        writers = BucketWriters(Objects(going.address("prefix")), OnHost("process"), "host")
        assert writers.own_name
    began = time.monotonic()
    del writers
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "contents", [b"", b"1f04724cf321c8f\x02-vm-1-b85068d5374b4e33", b"\xff", b"../x", b"host-a\x00b"]
)
def test_damaged_bucket_lock_is_taken_over_after_a_lease(
    objects: Objects, writers_of: MakeWriters, contents: bytes
) -> None:
    objects.put("locks/key", contents)
    began = time.monotonic()

    with hold_bucket_lock(objects, writers_of("host"), "key", "working") as lock:
        assert lock.had_holder
        assert time.monotonic() - began >= LEASE_S
