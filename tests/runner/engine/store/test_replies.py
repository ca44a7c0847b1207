"""Replies are written and read again."""

import errno
import json
import os
import resource
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, ClassVar
from zlib import crc32

import pytest

from components.errors import StoreError
from components.records import Answer, AnswerState
from runner.engine.store import replies as replies_module
from runner.engine.store.claims import Claims
from runner.engine.store.key_locks import try_hold_key_lock
from runner.engine.store.replies import Replies
from runner.engine.store.writers import Writers
from tests.runner.sweeping import flip_a_byte


def answer(key: str, text: str = "so") -> Answer:
    return Answer(key, AnswerState.OK, text, n_prompt_tokens=None, latency_s=0.5)


class Process(Writers):
    """One of several processes. `ended` has the names of the processes that ended."""

    ended: ClassVar[set[str]] = set()

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder)
        self._name = name

    @property
    def own_name(self) -> str:
        return self._name

    def is_gone(self, name: str) -> bool:
        return name.startswith("merged-") or name in self.ended


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "replies"


@pytest.fixture
def path(folder: Path) -> Path:
    """The file of the only process in most tests."""
    return folder / "one.jsonl"


def opened(path: Path) -> Replies:
    """Open the replies like a new process that is the only writer of the file."""
    return Replies(
        path.parent, Claims(path.parent.with_suffix(".lock")), Process(path.parents[1] / "writers", path.stem)
    )


def stored_reply(replies: Replies, key: str) -> Answer | None:
    return replies.get_all([key]).get(key)


def test_added_replies_are_returned_and_stored(path: Path) -> None:
    writer = opened(path)
    assert [writer.add("1", answer("1")), writer.add("2", answer("2"))] == [answer("1"), answer("2")]
    assert opened(path).add("3", answer("3")) == answer("3")
    assert opened(path).get_all(["3", "1", "9", "2", "1"]) == {key: answer(key) for key in "312"}


def test_replies_are_stored_under_their_key(path: Path) -> None:
    opened(path).add("a key", answer("an id"))
    assert stored_reply(opened(path), "an id") is None
    assert stored_reply(opened(path), "a key") == answer("a key")


@pytest.mark.parametrize("state", [AnswerState.EMPTY, AnswerState.REFUSED])
def test_replies_without_text_are_stored(path: Path, state: AnswerState) -> None:
    opened(path).add("1", Answer("1", state))
    assert opened(path).get_all(["1"])["1"].state is state


def test_failed_answers_are_not_stored_as_replies(path: Path) -> None:
    writer = opened(path)
    failed = Answer("1", AnswerState.ERROR, error="no")
    assert writer.add("1", failed) == failed
    writer.add("2", answer("2"))
    assert opened(path).get_all(["1", "2"]).keys() == {"2"}


def test_new_replies_file_has_no_replies(path: Path) -> None:
    assert opened(path).get_all(["1"]) == {}


def test_replies_of_other_writers_are_found(path: Path) -> None:
    own = opened(path)
    assert stored_reply(own, "1") is None
    opened(path).add("1", answer("1"))
    assert stored_reply(own, "1") == answer("1")
    opened(path).add("2", answer("2"))
    assert own.get_all(["1", "2"]) == {"1": answer("1"), "2": answer("2")}


def test_deleted_replies_disappear_and_new_replies_are_found(path: Path) -> None:
    own = opened(path)
    own.add("1", answer("1", "long " * 100))
    assert stored_reply(own, "1") is not None
    path.unlink()
    assert stored_reply(own, "1") is None
    opened(path).add("2", answer("2"))
    assert own.get_all(["1", "2"]) == {"2": answer("2")}
    path.write_bytes(b"")
    assert own.get_all(["1", "2"]) == {}


def test_unfinished_reply_line_is_read_once_complete(path: Path) -> None:
    opened(path).add("1", answer("1"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    own = opened(path)
    assert stored_reply(own, "1") is None
    path.write_bytes(whole)
    assert stored_reply(own, "1") == answer("1")


def test_unfinished_line_of_another_process_damages_no_other_line(path: Path) -> None:
    writer = opened(path)
    writer.add("1", answer("1"))
    with path.open("ab") as killed:
        killed.write(b'{"request_id": "9", "sta')
    writer.add("2", answer("2"))
    assert opened(path).get_all(["1", "9", "2"]) == {"1": answer("1"), "2": answer("2")}


def test_blank_reply_lines_are_not_parsed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_parsed, loads = 0, json.loads

    def counted(text: bytes) -> object:
        nonlocal n_parsed
        n_parsed += 1
        return loads(text)

    for key in "123":
        opened(path).add(key, answer(key))
    monkeypatch.setattr(json, "loads", counted)
    assert opened(path).get_all("1").keys() == {"1"}
    assert n_parsed == 3 + 1, "every line once for its place, and the one that is asked for"


@pytest.mark.parametrize("line", ["[]", "3", '{"request_id": "1"}', '{"request_id": "1", "state": "error"}', "{", "ÿ"])
def test_lines_without_a_valid_reply_are_skipped(path: Path, line: str) -> None:
    path.parent.mkdir()
    path.write_bytes(line.encode("latin-1") + b"\n")
    opened(path).add("2", answer("2"))
    assert opened(path).get_all(["1", "2"]) == {"2": answer("2")}


def test_lone_surrogate_is_replaced_before_it_is_stored(path: Path) -> None:
    passed = opened(path).add("1", answer("1", "so \ud83d \ud83d\ude00"))
    assert passed.text == "so \ufffd \U0001f600"
    assert stored_reply(opened(path), "1") == passed


@pytest.mark.parametrize("n_bytes_lost", [1, 2, 40])
def test_truncated_line_is_skipped_and_damages_no_other_line(path: Path, n_bytes_lost: int) -> None:
    opened(path).add("first", answer("any", "one"))
    opened(path).add("cut", answer("any", "two"))
    path.write_bytes(path.read_bytes()[:-n_bytes_lost])
    seen_before = opened(path)
    assert stored_reply(seen_before, "cut") is None
    opened(path).add("third", answer("any", "three"))
    for replies in (seen_before, opened(path)):
        found = replies.get_all(["first", "cut", "third"])
        assert (found["first"].text, found["third"].text) == ("one", "three")
        assert ("cut" in found) == (n_bytes_lost == 1), "only its line's end was lost"


def test_concurrent_reply_writers_lose_nothing(path: Path) -> None:
    writers = [opened(path) for _ in range(4)]

    def write(number: int) -> None:
        writers[number % 4].add(f"k{number}", answer("any", f"{number} " * 500))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    found = opened(path).get_all([f"k{number}" for number in range(200)])
    assert {key: answer.text for key, answer in found.items()} == {f"k{n}": f"{n} " * 500 for n in range(200)}


def test_reply_with_a_flipped_bit_is_never_read(path: Path) -> None:
    opened(path).add("1", answer("1", "长 text"))
    opened(path).add("2", answer("2"))
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(bytes(damaged))
        found = opened(path).get_all(["1", "2"])
        assert found.items() <= {"1": answer("1", "长 text"), "2": answer("2")}.items()
        assert found, "the other line is whole"


def test_reply_lines_without_a_checksum_are_read(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(
        '\n{"request_id": "1", "state": "ok", "text": "so"}\n\n{"request_id": "2", "state": "ok", "texts": "so"}\n'
    )
    assert opened(path).get_all(["1", "2"]) == {"1": Answer("1", AnswerState.OK, "so")}


@contextmanager
def full_disk() -> Iterator[None]:
    """Files, including pytest's own report, cannot grow beyond 500 bytes. As on a full disk, a part is written
    and the rest refused.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_error_names_the_unreadable_replies_of_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(path).add("1", answer("1"))

    def refuse(place: Path) -> BinaryIO:
        raise PermissionError(errno.EACCES, "Permission denied", str(place))

    monkeypatch.setattr(replies_module, "open_regular", refuse)
    with pytest.raises(
        StoreError, match=rf"{path}: Permission denied. Make it accessible .chmod -R g.rwX {path.parent} "
    ):
        opened(path).get_all(["1"])


def test_damaged_replies_are_reported_when_they_are_read(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened(path).add_all([answer("1"), answer("2"), answer("3")])
    path.write_bytes(path.read_bytes().replace(b'"2"', b'"X"'))
    reader = opened(path)
    assert set(reader.get_all("123")) == {"1", "3"}
    assert set(reader.get_all("123")) == {"1", "3"}
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == f"{path}: 1 reply is incomplete or damaged; requests are sent again where they are needed"


def test_reply_that_cannot_be_written_is_an_error(path: Path) -> None:
    writer = opened(path)
    writer.add("1", answer("1"))
    with full_disk(), pytest.raises(StoreError, match=r"cannot write a reply: a file would exceed .* Raise"):
        writer.add("2", answer("2", "long " * 100))
    assert opened(path).get_all(["1", "2"]) == {"1": answer("1")}


def test_reply_is_stored_while_all_file_descriptors_are_taken(path: Path) -> None:
    writer, taken = opened(path), []
    writer.add("1", answer("1"))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 50, before[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        writer.add("2", answer("2"))
        writer.add("3", answer("3"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)
    assert opened(path).get_all(["1", "2", "3"]).keys() == {"1", "2", "3"}


def test_too_many_open_files_suggest_to_raise_the_limit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreError, match=r"Too many open files\. Raise the limit of open files \(ulimit -n\)"):
        opened(path).add("1", answer("1"))


class TestSeveralProcesses:
    def test_each_process_writes_its_own_file_and_all_read_all(self, folder: Path) -> None:
        processes = {name: opened(folder / f"{name}.jsonl") for name in ("one", "two", "three")}
        for name, replies in processes.items():
            replies.add(name, answer(name))
        assert sorted(path.name for path in folder.iterdir()) == ["one.jsonl", "three.jsonl", "two.jsonl"]
        for replies in processes.values():
            assert replies.get_all(["one", "two", "three"]) == {name: answer(name) for name in processes}

    def test_writer_presumed_dead_continues_in_a_new_file(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The writer paused between opening its file and writing, and the file was merged meanwhile."""
        writer = opened(path)
        writer.add("1", answer("1"))
        open_file, n_merged = os.open, 0

        def open_and_stand_still(opened: Path, *arguments: Any) -> int:
            nonlocal n_merged
            file = open_file(opened, *arguments)
            if opened == path and not n_merged:
                n_merged += 1
                path.unlink()
            return file

        monkeypatch.setattr(os, "open", open_and_stand_still)
        writer.add("2", answer("2"))
        assert n_merged == 1
        assert stored_reply(opened(path), "2") == answer("2")


class TestMerging:
    @pytest.fixture(autouse=True)
    def ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Process, "ended", {f"ended-{number:02}" for number in range(40)})

    def write(self, folder: Path, numbers: Iterable[int]) -> dict[str, Answer]:
        for number in numbers:
            opened(folder / f"ended-{number:02}.jsonl").add(str(number), answer(str(number), f"text {number}"))
        return {str(number): answer(str(number), f"text {number}") for number in numbers}

    def kinds(self, folder: Path) -> Counter[str]:
        return Counter(path.name.partition("-")[0] for path in folder.iterdir())

    def test_files_of_ended_writers_are_merged_into_few(self, folder: Path) -> None:
        alive = opened(folder / "alive.jsonl")
        alive.add("x", answer("x"))
        written = self.write(folder, range(20))
        assert self.kinds(folder) == {"alive.jsonl": 1, "merged": 1, "ended": 4}
        for reader in (alive, opened(folder / "reader.jsonl")):
            assert reader.get_all([*written, "x"]) == {**written, "x": answer("x")}

    def test_merge_keeps_replies_of_newer_versions_and_drops_damaged_lines(self, folder: Path) -> None:
        """The reply was paid for, though only the newer version can read it."""
        body = b'"request_id": "newer", "state": "ok", "text": "so", "of_a_later_version": 1}'
        newer = b'{"crc32": "%08x", %s\n' % (crc32(body), body)
        folder.mkdir()
        (folder / "ended-30.jsonl").write_bytes(newer + newer.replace(b"so", b"no") + newer[:-20])
        (folder / "ended-31.jsonl").write_bytes(newer)
        self.write(folder, range(20))
        (merged,) = folder.glob("merged-*")
        assert [line for line in merged.read_bytes().splitlines(keepends=True) if b'"newer"' in line] == [newer]

    def test_large_reply_file_is_not_copied_for_a_few_replies(self, folder: Path) -> None:
        opened(folder / "ended-00.jsonl").add("large", answer("large", "x" * 100_000))
        written = self.write(folder, range(1, 20))
        assert (folder / "ended-00.jsonl").stat().st_size > 100_000
        assert self.kinds(folder) == {"merged": 1, "ended": 1 + 3}
        assert opened(folder / "reader.jsonl").get_all(written) == written

    def test_damaged_reply_lines_are_dropped_by_a_merge(self, folder: Path) -> None:
        written = self.write(folder, range(16))
        flip_a_byte(folder / "ended-03.jsonl")
        self.write(folder, [16, 17])
        del written["3"]
        assert opened(folder / "reader.jsonl").get_all([*written, "3"]) == written

    @pytest.mark.parametrize("at", ["rename", "unlink"])
    def test_interrupted_merge_loses_no_reply(self, folder: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
        written = self.write(folder, range(17))
        call = getattr(Path, at)

        def be_killed(path: Path, *arguments: Any, **options: Any) -> Any:
            if path.parent == folder and not (at == "unlink" and path.name.startswith(".")):
                raise KeyboardInterrupt
            return call(path, *arguments, **options)

        with monkeypatch.context() as patched:
            patched.setattr(Path, at, be_killed)
            with pytest.raises(KeyboardInterrupt):
                self.write(folder, [17])
        assert opened(folder / "reader.jsonl").get_all(written) == written
        assert self.kinds(folder) == ({"ended": 17} if at == "rename" else {"ended": 17, "merged": 1})
        written |= self.write(folder, [18])
        assert self.kinds(folder) == {"merged": 1, "ended": 1}
        (merged,) = folder.glob("merged-*")
        assert len(merged.read_bytes().splitlines()) == 17, "what two files hold is kept once"
        assert opened(folder / "reader.jsonl").get_all(written) == written

    def test_merge_keeps_replies_that_a_writer_presumed_dead_adds(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written, late = self.write(folder, range(17)), opened(folder / "ended-03.jsonl")
        sync, texts = replies_module.sync, iter(["late"])

        def let_it_go_on(path: Path) -> None:
            sync(path)
            for text in texts:
                late.add(text, answer(text))

        monkeypatch.setattr(replies_module, "sync", let_it_go_on)
        written |= self.write(folder, [18]) | {"late": answer("late")}
        assert not (folder / "ended-03.jsonl").exists()
        assert opened(folder / "reader.jsonl").get_all(written) == written

    def test_readers_find_all_replies_during_a_merge(self, folder: Path) -> None:
        """Files may disappear after the listing of the folder and before their opening."""
        written = self.write(folder, range(17))
        reader = opened(folder / "reader.jsonl")
        names = reader._names

        def list_and_stand_still() -> list[str]:
            found = names()
            reader._names = names  # type: ignore[method-assign]
            self.write(folder, [17])
            return found

        reader._names = list_and_stand_still  # type: ignore[method-assign]
        assert reader.get_all(written) == written

    def test_only_one_process_merges_at_a_time(self, folder: Path) -> None:
        self.write(folder, range(17))
        with try_hold_key_lock(folder / ".merging", Process(folder.parent / "writers", "another")):
            self.write(folder, [17])
        assert self.kinds(folder) == {"ended": 18}
