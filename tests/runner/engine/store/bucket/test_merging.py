"""Objects of replies that are merged while hosts read them and add to them."""

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from components.records import Answer, AnswerState
from runner.engine.store import Store, open_store
from runner.engine.store.bucket import mirrors
from runner.engine.store.bucket.merging import merge, mergeable
from runner.engine.store.bucket.objects import Object, ObjectInfo, Objects
from tests.buckets import Bucket

KEY = "cd" * 32
FOLDER = f"replies/{KEY}"
MIB = 1 << 20

Host = Callable[[str], Store]


@pytest.fixture
def host(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setattr(mirrors, "_LOOK_EVERY_S", 0.0)
    opened: list[Store] = []

    def open_one(name: str) -> Store:
        opened.append(open_store(address, str(tmp_path / name), "a run"))
        return opened[-1]

    yield open_one
    opened.clear()
    gc.collect()  # a finaliser sends requests, which must not run in the server's thread


@pytest.fixture
def objects(address: str) -> Objects:
    return Objects(address)


def add(store: Store, *numbers: int) -> None:
    """Add some replies, and upload them."""
    for number in numbers:
        store.replies(KEY).add(str(number), Answer("", AnswerState.OK, f"reply {number}"))
    store._remote.reply_mirror(store.root / "replies" / KEY).send_now()


def stored_numbers(store: Store) -> list[int]:
    return sorted(map(int, store.replies(KEY).get_all(map(str, range(1000)))))


def merge_all(objects: Objects) -> None:
    merge(objects, FOLDER, objects.list_objects(FOLDER))


def listed(n_bytes: int, number: int = 0) -> ObjectInfo:
    return ObjectInfo(f"{FOLDER}/one/{number:06}", n_bytes, "tag", datetime(2026, 1, 1, tzinfo=UTC) + timedelta(number))


class TestMergeThresholds:
    def test_sixteen_objects_are_not_merged(self) -> None:
        assert mergeable([listed(10, number) for number in range(16)]) == []

    def test_seventeen_objects_are_merged_oldest_first(self) -> None:
        many = [listed(10, number) for number in range(17)]
        assert mergeable(many[::-1]) == [many]

    def test_empty_objects_of_a_killed_merge_are_merged_first(self) -> None:
        many = [listed(0), *(listed(10, number) for number in range(1, 17))]
        assert mergeable(many) == [many]

    def test_large_objects_are_not_merged_and_merges_stay_below_the_limit(self) -> None:
        many = [*(listed(MIB, number) for number in range(40)), *(listed(9 * MIB, number) for number in range(40, 60))]
        assert [len(group) for group in mergeable(many)] == [16, 16, 8]


class TestMerged:
    def test_merged_object_is_readable_by_all_hosts(self, host: Host, objects: Objects, bucket: Bucket) -> None:
        first, before = host("a"), host("b")
        for number in range(5):
            add(store := host(f"of-{number}"), number, 100)
        assert stored_numbers(before) == [*range(5), 100]
        merge_all(objects)
        (merged,) = objects.list_objects(FOLDER)
        bucket.forget_requests()
        assert stored_numbers(first) == [*range(5), 100]
        assert [method for method, _ in bucket.requests].count("GET") == 2  # a listing, and the object
        assert stored_numbers(before) == stored_numbers(store) == stored_numbers(host("b")) == [*range(5), 100]
        contents = objects.get(merged.path)
        assert contents is not None
        assert contents.contents.count(b'"100"') == 1

    def test_writer_presumed_dead_continues_in_a_new_object(self, host: Host, objects: Objects) -> None:
        add(writer := host("a"), 1)
        merge_all(objects)
        add(writer, 2)
        add(writer, 3)
        assert len(objects.list_objects(FOLDER)) == 2
        assert stored_numbers(host("b")) == [1, 2, 3]

    def test_reply_added_during_a_merge_remains(
        self, host: Host, objects: Objects, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(writer := host("a"), 1)
        put = objects.put

        def put_while_another_adds(path: str, contents: bytes) -> str:
            add(writer, 2)
            return put(path, contents)

        monkeypatch.setattr(objects, "put", put_while_another_adds)
        merge_all(objects)
        assert len(objects.list_objects(FOLDER)) == 2
        assert stored_numbers(host("b")) == [1, 2]

    def test_reply_added_just_before_the_deletion_remains(
        self, host: Host, objects: Objects, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(writer := host("a"), 1)
        delete = objects.delete

        def delete_after_another_added(paths: list[str]) -> None:
            add(writer, 2)
            delete(paths)

        monkeypatch.setattr(objects, "delete", delete_after_another_added)
        merge_all(objects)
        assert stored_numbers(host("b")) == [1, 2]

    def test_object_merged_after_its_listing_is_looked_up_again(
        self, host: Host, objects: Objects, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(host("a"), 1)
        reader = host("b")
        get_range = Objects.get_range

        def get_after_a_merge(self: Objects, path: str, start: int, end: int) -> bytes | None:
            if "merged" not in path:
                merge_all(objects)
            return get_range(self, path, start, end)

        monkeypatch.setattr(Objects, "get_range", get_after_a_merge)
        assert stored_numbers(reader) == [1]

    def test_next_merge_completes_a_killed_merge_without_loss(
        self, host: Host, objects: Objects, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(paths: list[str]) -> None:
            raise KeyboardInterrupt

        add(host("a"), 1)
        add(host("b"), 2)
        with monkeypatch.context() as patched:
            patched.setattr(objects, "delete", killed)
            with pytest.raises(KeyboardInterrupt):
                merge_all(objects)
        assert len(objects.list_objects(FOLDER)) == 3
        assert stored_numbers(host("c")) == [1, 2]
        merge_all(objects)
        assert len(objects.list_objects(FOLDER)) == 1
        assert stored_numbers(host("d")) == [1, 2]

    def test_repeated_merges_during_writes_lose_nothing(self, host: Host, objects: Objects) -> None:
        def write(name: str, first: int) -> None:
            store = host(name)
            for number in range(first, first + 25):
                add(store, number)

        with ThreadPoolExecutor(3) as pool:
            writing = [pool.submit(write, "a", 0), pool.submit(write, "b", 100)]
            while not all(each.done() for each in writing):
                merge_all(objects)
        assert [each.exception() for each in writing] == [None, None]
        assert stored_numbers(host("c")) == [*range(25), *range(100, 125)]


class Garbling(Objects):
    """Damages the downloaded bytes of an object, the first time or every time."""

    how: Callable[[bytes], bytes] = staticmethod(bytes)
    n_left = 1

    def get(self, path: str) -> Object | None:
        found = super().get(path)
        if found is None or not self.n_left:
            return found
        self.n_left -= 1
        return replace(found, contents=self.how(found.contents))


def flipped(contents: bytes) -> bytes:
    return contents[:30] + bytes([contents[30] ^ 4]) + contents[31:]


def cut_in_two(contents: bytes) -> bytes:
    return contents[: len(contents) // 2]


def cut_behind_a_line(contents: bytes) -> bytes:
    return contents[: contents.index(b"}\n") + 2]


@pytest.mark.parametrize("how", [flipped, cut_in_two, cut_behind_a_line])
def test_replies_damaged_in_transit_are_not_merged(
    host: Host, address: str, objects: Objects, how: Callable[[bytes], bytes]
) -> None:
    for number in range(3):
        add(host(f"host {number}"), number, 10 + number)
    garbling = Garbling(address)
    garbling.how = how
    merge_all(garbling)
    assert len(objects.list_objects(FOLDER)) == 2, "the merged one, and the one that stays as it is"
    assert stored_numbers(host("another")) == [0, 1, 2, 10, 11, 12]


def test_lines_damaged_in_the_bucket_do_not_stop_merging(host: Host, objects: Objects) -> None:
    for number in range(2):
        add(host(f"host {number}"), number, 10 + number)
    first = objects.list_objects(FOLDER)[0].path
    contents = objects.get(first)
    assert contents
    objects.put(first, flipped(contents.contents))
    merge_all(objects)
    assert len(objects.list_objects(FOLDER)) == 1
    assert len(stored_numbers(host("another"))) == 3
