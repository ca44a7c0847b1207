"""Heartbeat files: which processes are alive, and which are presumed dead."""

import errno
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from runner.engine.store import heartbeat as heartbeat_module
from runner.engine.store.heartbeat import Heartbeat, heartbeat
from runner.engine.store.writers import Writers

LEASE_S = 0.4


@pytest.fixture
def writers(tmp_path: Path) -> Writers:
    return Writers(tmp_path / "writers", LEASE_S)


def file_of_another_host(writers: Writers, name: str = "other-1-abc") -> Path:
    path = writers.own_path.with_name(name)
    path.write_bytes(b"the kernel of another host")
    return path


def changes_within(path: Path, seconds: float) -> bool:
    before, until = path.stat().st_mtime_ns, time.monotonic() + seconds
    while time.monotonic() < until:
        if path.stat().st_mtime_ns != before:
            return True
        time.sleep(0.01)
    return False


def test_process_has_one_name_per_store(writers: Writers, tmp_path: Path) -> None:
    assert writers.own_name == Writers(tmp_path / "writers", LEASE_S).own_name
    assert f"-{os.getpid()}-" in writers.own_name
    assert not writers.is_gone(writers.own_name)


def test_heartbeat_is_written_several_times_per_lease(writers: Writers) -> None:
    assert changes_within(writers.own_path, LEASE_S)


def test_process_without_a_heartbeat_file_is_dead(writers: Writers) -> None:
    assert writers.is_gone("nobody")


def test_process_of_another_host_is_dead_after_a_silent_lease(writers: Writers) -> None:
    other = file_of_another_host(writers)
    started = time.monotonic()
    while not writers.is_gone(other.name):
        time.sleep(0.02)
    assert LEASE_S < time.monotonic() - started < LEASE_S + 2


def test_process_with_a_changing_heartbeat_is_alive(writers: Writers) -> None:
    other = file_of_another_host(writers)
    until = time.monotonic() + 3 * LEASE_S
    while time.monotonic() < until:
        assert not writers.is_gone(other.name)
        os.utime(other)
        time.sleep(LEASE_S / 4)


def test_waiter_that_paused_starts_watching_again(writers: Writers) -> None:
    """A terminal stops all of its processes, and no stopped process may then consider the others dead."""
    other = file_of_another_host(writers)
    assert not writers.is_gone(other.name)
    time.sleep(LEASE_S + 0.1)
    assert not writers.is_gone(other.name)


def test_process_silent_for_hours_is_dead_without_watching(writers: Writers) -> None:
    other = file_of_another_host(writers)
    long_ago = time.time() - 3 * 3600
    os.utime(other, (long_ago, long_ago))
    assert writers.is_gone(other.name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_process_of_this_host_is_alive_after_the_machine_slept(writers: Writers) -> None:
    """The file of the looking process was touched after the stop, unlike the file of the other process."""
    read, write = os.pipe()
    if not (child := os.fork()):
        os.write(write, writers.own_name.encode())
        signal.pause()
        os._exit(0)
    try:
        name, long_ago = os.read(read, 1000).decode(), time.time() - 3 * 3600
        os.kill(child, signal.SIGSTOP)
        os.utime(writers.own_path.with_name(name), (long_ago, long_ago))
        assert not writers.is_gone(name)
        while not writers.is_gone(name):  # the process was stopped
            time.sleep(0.02)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such locks")
def test_writers_without_locks_are_presumed_dead_when_silent(writers: Writers, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.lockf", refuse)
    assert writers.own_path.read_bytes() == b"", "nobody may take it for one that can be locked"
    other = file_of_another_host(writers)
    other.write_bytes(b"")
    assert not writers.is_gone(other.name)
    while not writers.is_gone(other.name):
        time.sleep(0.02)


def test_heartbeat_files_of_dead_processes_are_removed(writers: Writers) -> None:
    dead, other = file_of_another_host(writers, "dead-1-abc"), file_of_another_host(writers)
    dead.write_bytes(heartbeat_module.kernel())  # a heartbeat file that no process holds
    writers.remove_dead_heartbeats()
    assert [dead.exists(), other.exists(), writers.own_path.exists()] == [False, True, True]


def test_live_process_recreates_its_removed_heartbeat(writers: Writers) -> None:
    name = writers.own_name
    writers.own_path.unlink()
    until = time.monotonic() + 20
    while not writers.own_path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert (writers.own_name, writers.own_path.exists()) == (name, True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
class TestForks:
    def test_forked_child_has_its_own_heartbeat_and_the_parent_stays_alive(self, writers: Writers) -> None:
        name = writers.own_name
        assert heartbeat.n_threads == 1
        read, write = os.pipe()
        if not (child := os.fork()):
            own = writers.own_name
            is_fine = own != name and not writers.is_gone(name) and threading.active_count() == 2
            os.write(write, own.encode() if is_fine else b"not fine")
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            name_of_child = pipe.read()
        os.waitpid(child, 0)
        assert f"-{child}-" in name_of_child
        assert writers.is_gone(name_of_child), "it has ended"
        assert not writers.is_gone(name)
        assert changes_within(writers.own_path, LEASE_S)


def test_heartbeat_file_is_removed_with_its_last_user(tmp_path: Path) -> None:
    """A process that opens one store after the other, as tests do, keeps no file open for each."""
    own = Heartbeat()
    first, second = Writers(tmp_path), Writers(tmp_path)
    own.start_file(tmp_path / "1", 60, first)
    own.start_file(tmp_path / "2", 60, second)
    del first
    own.start_file(tmp_path / "3", 60, second)
    assert [len(list((tmp_path / name).iterdir())) for name in "123"] == [0, 1, 1]
    own.end()
    assert not list(tmp_path.glob("*/*"))
    assert own.n_threads == 0


def test_heartbeat_ends_if_its_thread_never_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt may come between the creation of the thread and its start."""

    def interrupt(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    own, writers = Heartbeat(), Writers(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupt)
        with pytest.raises(KeyboardInterrupt):
            own.start_file(tmp_path / "1", 60, writers)
    own.end()
    assert not list(tmp_path.glob("1/*"))
    assert own.n_threads == 0


def test_folder_among_the_heartbeats_is_not_a_process(writers: Writers) -> None:
    path = writers.own_path.with_name("other-1-folder")
    path.mkdir()
    assert writers.is_gone(path.name)
    writers.remove_dead_heartbeats()
    assert path.is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
def test_fifo_among_the_heartbeats_does_not_block(writers: Writers) -> None:
    path = writers.own_path.with_name("other-1-fifo")
    os.mkfifo(path)
    assert not writers.is_gone(path.name)
    os.utime(path, (0, 0))
    assert writers.is_gone(path.name)


def test_heartbeat_calls_an_object_as_long_as_it_exists(writers: Writers) -> None:
    class Counting:
        n = 0

        def beat(self) -> None:
            self.n += 1

    counting = Counting()
    assert writers.own_name
    heartbeat.call(counting)
    limit = time.monotonic() + 30
    while counting.n < 2 and time.monotonic() < limit:
        time.sleep(0.01)
    assert counting.n >= 2
    del counting
    assert changes_within(writers.own_path, 30), "the thread goes on"
