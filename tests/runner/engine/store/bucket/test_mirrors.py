"""Replies and scores of pairs, as seen by hosts that share only the bucket."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from components.records import Answer, AnswerState
from runner.engine.store import Store, open_store
from runner.engine.store.bucket import mirrors
from runner.engine.store.bucket.objects import Objects
from tests.buckets import Bucket

KEY = "cd" * 32
ALL = [str(number) for number in range(1000)]
PAIRS = np.array([[0, 1]], dtype=np.int32)

Host = Callable[[str], Store]


@pytest.fixture
def host(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(mirrors, "_LOOK_EVERY_S", 0.0)
    return lambda name: open_store(address, str(tmp_path / name), "a run")


@pytest.fixture
def objects(address: str) -> Objects:
    return Objects(address)


def answer(text: str) -> Answer:
    return Answer("", AnswerState.OK, text, n_prompt_tokens=None, latency_s=0.5)


def add(store: Store, *keys: str, text: str = "so") -> None:
    for key in keys:
        store.replies(KEY).add(key, answer(text))


def sent(store: Store) -> None:
    """Send, as at the end of a stage."""
    store._remote.reply_mirror(store.root / "replies" / KEY).send_now()


def leave(store: Store, name: str) -> None:
    """Rename this process's files, as if a process of that name had written them and been killed."""
    folder = store.root / "replies" / KEY
    own = store.writers.own_name
    (folder / f"{own}.jsonl").rename(folder / f"{name}.jsonl")
    (folder / ".sent" / own).rename(folder / ".sent" / name)


def stored_ids(store: Store) -> list[str]:
    return sorted(store.replies(KEY).get_all(ALL), key=int)


class TestReplies:
    def test_sent_replies_are_visible_to_other_hosts(self, host: Host) -> None:
        first, second = host("a"), host("b")
        assert stored_ids(second) == []
        add(first, "1", "2")
        sent(first)
        assert stored_ids(second) == ["1", "2"]
        add(first, "3")
        add(second, "4")
        sent(first)
        sent(second)
        assert stored_ids(first) == stored_ids(second) == stored_ids(host("c")) == ["1", "2", "3", "4"]

    def test_replies_are_uploaded_before_the_result_made_from_them(self, host: Host) -> None:
        store = host("a")
        add(store, "1")
        store.write("answers", KEY, {"n": 1}, seconds=1, made_from={})
        assert stored_ids(host("b")) == ["1"]

    def test_replies_are_sent_within_seconds(self, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runner.engine.store.bucket.bucket_writers._SEND_EVERY_S", 0.05)
        store, other = host("a"), host("b")
        add(store, "1")
        deadline = time.monotonic() + 5
        while stored_ids(other) != ["1"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def test_replies_are_downloaded_once(self, host: Host, bucket: Bucket) -> None:
        first, second = host("a"), host("b")
        add(first, "1")
        sent(first)
        assert stored_ids(second) == ["1"]
        bucket.forget_requests()
        assert stored_ids(second) == stored_ids(first) == ["1"]
        assert all("list-type" in path for _, path in bucket.requests)
        sent(first)
        sent(second)
        assert all("list-type" in path for _, path in bucket.requests)

    def test_lookups_are_limited_to_one_per_interval(
        self, host: Host, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mirrors, "_LOOK_EVERY_S", 60.0)
        store = host("a")
        bucket.forget_requests()
        for _ in range(5):
            assert stored_ids(store) == []
        assert len(bucket.requests) == 1

    def test_replies_are_packed_and_only_the_last_object_is_sent_again(
        self, host: Host, objects: Objects, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mirrors, "_SEGMENT_BYTES", 2000)
        store, reader = host("a"), host("b")
        for start in range(0, 60, 6):
            add(store, *map(str, range(start, start + 6)), text="long" * 20)
            sent(store)
            assert stored_ids(reader) == [str(number) for number in range(start + 6)]
        segments = objects.list_objects("replies")
        assert 3 <= len(segments) <= 20
        for segment in segments:
            lines = (objects.get(segment.path) or pytest.fail("gone")).contents.splitlines()
            assert all(json.loads(line)["text"] for line in lines if line)
        assert stored_ids(host("c")) == [str(number) for number in range(60)]

    def test_replies_of_a_killed_process_are_sent_by_the_next(self, host: Host) -> None:
        store = host("a")
        add(store, "1")
        sent(store)
        add(store, "2")
        leave(store, "host-1-killed")
        assert stored_ids(host("b")) == ["1"]
        assert stored_ids(host("a")) == ["1", "2"]
        assert stored_ids(host("b")) == ["1", "2"]

    def test_merged_replies_are_not_transferred_again(self, host: Host, bucket: Bucket) -> None:
        for number in range(20):
            store = host("a")
            add(store, str(number))
            sent(store)
            leave(store, f"host-{number}-killed")
        store = host("a")
        add(store, "20")
        assert len(list((store.root / "replies" / KEY).glob("*.jsonl"))) < 20
        sent(store)
        bucket.forget_requests()
        assert stored_ids(host("a")) == [str(number) for number in range(21)]
        assert not [path for method, path in bucket.requests if method == "PUT" and "/replies/" in path]
        assert (
            sum(method == "GET" and "list-type" not in path for method, path in bucket.requests) == 1
        )  # the store's description


class TestPairScores:
    def test_pair_scores_are_visible_to_other_hosts(self, host: Host, objects: Objects) -> None:
        first, second = host("a"), host("b")
        assert np.isnan(second.pair_scores(KEY).look_up(["q"], PAIRS)).all()
        first.pair_scores(KEY).add(["q"], PAIRS, np.array([0.5], dtype=np.float32))
        first.write("reranked_hits", KEY, {"n": 1}, seconds=1, made_from={})
        assert second.pair_scores(KEY).look_up(["q"], PAIRS).tolist() == [0.5]
        second.write("reranked_hits", KEY[::-1], {"n": 1}, seconds=1, made_from={})
        assert len(objects.list_objects("pair_scores")) == 1

    def test_damaged_block_is_downloaded_again(self, host: Host) -> None:
        first = host("a")
        first.pair_scores(KEY).add(["q"], PAIRS, np.array([0.5], dtype=np.float32))
        first.write("reranked_hits", KEY, {"n": 1}, seconds=1, made_from={})
        (block,) = (first.root / "pair_scores" / KEY).iterdir()
        block.write_bytes(b"damaged")
        assert np.isnan(first.pair_scores(KEY).look_up(["q"], PAIRS)).all()
        assert first.pair_scores(KEY).look_up(["q"], PAIRS).tolist() == [0.5]
