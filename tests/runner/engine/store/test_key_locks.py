"""Locks that depend on heartbeats."""

import errno
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from components.errors import StoreError
from runner.engine.store import key_locks
from runner.engine.store.key_locks import hold_key_lock, try_hold_key_lock
from runner.engine.store.writers import Writers
from tests.runner.sweeping import REPOSITORY

LEASE_S = 0.8

_HOLD = """
import sys
from pathlib import Path
from runner.engine.store.key_locks import hold_key_lock
from runner.engine.store.writers import Writers
folder = Path(sys.argv[1])
with hold_key_lock(folder / "a.lock", Writers(folder / "writers", float(sys.argv[2])), "making sums"):
    print("held", flush=True)
    sys.stdin.readline()
print("left", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process(folder: Path, lease_s: float) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that holds the lock until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(folder), str(lease_s)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def writers(tmp_path: Path) -> Writers:
    return Writers(tmp_path / "writers", LEASE_S)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "a.lock"


def seconds_waited(lock: Path, writers: Writers) -> float:
    started = time.monotonic()
    with hold_key_lock(lock, writers, "making sums"):
        return time.monotonic() - started


def test_holder_notices_that_another_process_took_its_lock(lock: Path, writers: Writers) -> None:
    with hold_key_lock(lock, writers, "making sums") as held:
        assert not held.is_lost()
        lock.unlink()
        assert held.is_lost()
        lock.symlink_to("another-host-1-0123456789abcdef:01234567")
        assert held.is_lost()
    assert lock.is_symlink()


def test_holder_keeps_its_lock_while_the_file_system_cannot_tell(
    lock: Path, writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: object) -> str:
        raise OSError(errno.ESTALE, "Stale file handle")

    with hold_key_lock(lock, writers, "making sums") as held, monkeypatch.context() as patch:
        patch.setattr(os, "readlink", fail)
        assert not held.is_lost()


def test_key_lock_is_held_by_one_process_at_a_time(lock: Path, writers: Writers) -> None:
    inside: list[int] = []
    most: list[int] = []

    def run() -> None:
        for _ in range(5):
            with hold_key_lock(lock, writers, "making sums"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] * 20
    assert not lock.is_symlink()


def test_held_key_lock_can_be_skipped(lock: Path, writers: Writers) -> None:
    with try_hold_key_lock(lock, writers) as is_own:
        assert is_own
        with try_hold_key_lock(lock, writers) as is_others:
            assert not is_others
        assert lock.is_symlink()
    assert not lock.is_symlink()


def test_process_waiting_for_a_key_lock_logs_the_holder(
    lock: Path, writers: Writers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(key_locks, "_WARN_AFTER_S", 0.05)
    with hold_key_lock(lock, writers, "making vectors"):
        waiting = threading.Thread(target=seconds_waited, args=(lock, writers))
        waiting.start()
        until = time.monotonic() + 20
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.01)
    waiting.join(20)
    assert not waiting.is_alive()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"waiting for another process, which is making sums (it holds {lock})"


def test_live_holder_keeps_its_key_lock_for_many_leases(tmp_path: Path, lock: Path, writers: Writers) -> None:
    with another_process(tmp_path, LEASE_S) as holder:
        until = time.monotonic() + 2 * LEASE_S
        while time.monotonic() < until:
            with try_hold_key_lock(lock, writers) as is_own:
                assert not is_own
            time.sleep(0.05)
        print(file=holder.stdin, flush=True)
        seconds_waited(lock, writers)


def test_killed_holder_loses_its_key_lock_immediately(tmp_path: Path, lock: Path) -> None:
    with another_process(tmp_path, 3600) as holder:
        holder.kill()
        holder.wait(30)
        assert lock.is_symlink()
        assert seconds_waited(lock, Writers(tmp_path / "writers", 3600)) < 2


def test_stopped_holder_loses_its_lock_and_removes_no_later_lock(tmp_path: Path, lock: Path, writers: Writers) -> None:
    with another_process(tmp_path, LEASE_S) as holder:
        assert holder.stdout is not None
        holder.send_signal(signal.SIGSTOP)
        with hold_key_lock(lock, writers, "making sums"):
            holder.send_signal(signal.SIGCONT)
            print(file=holder.stdin, flush=True)
            assert holder.stdout.readline() == "left\n"
            assert str(lock.readlink()).startswith(f"{writers.own_name}:")
        assert not lock.is_symlink()


def test_stopped_holder_keeps_a_lock_on_paid_work(
    tmp_path: Path, lock: Path, writers: Writers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(key_locks, "_WARN_AFTER_S", 0.2)
    with another_process(tmp_path, LEASE_S) as holder:
        assert holder.stdout is not None
        holder.send_signal(signal.SIGSTOP)
        inside = threading.Event()

        def run() -> None:
            with hold_key_lock(lock, writers, "making vectors", from_stopped=False):
                inside.set()

        thread = threading.Thread(target=run)
        thread.start()
        assert not inside.wait(2 * LEASE_S)
        assert "making vectors" in caplog.text
        assert "If that process is suspended (Ctrl-Z), resume or end it" in caplog.text
        holder.send_signal(signal.SIGCONT)
        print(file=holder.stdin, flush=True)
        assert inside.wait(10)
        thread.join()


def test_lock_taken_by_another_process_is_not_broken(lock: Path) -> None:
    lock.symlink_to("another")
    key_locks._break(lock, "one who is gone")
    assert lock.readlink() == Path("another")
    assert [path.name for path in lock.parent.iterdir()] == ["a.lock"]


def test_repeated_link_request_still_holds_the_lock(
    lock: Path, writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network file system repeats the request if the first response was lost."""
    symlink = os.symlink

    def ask_twice(target: str, path: Path) -> None:
        symlink(target, path)
        symlink(target, path)

    monkeypatch.setattr(os, "symlink", ask_twice)
    assert seconds_waited(lock, writers) < LEASE_S


class TestWithoutLinks:
    """File systems without hard links, and Windows for most users."""

    @pytest.fixture(autouse=True)
    def no_links(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "symlink", refuse)

    def test_key_lock_without_links_is_a_file(self, lock: Path, writers: Writers) -> None:
        with try_hold_key_lock(lock, writers) as is_own:
            assert is_own
            assert lock.read_text(encoding="utf-8").startswith(f"{writers.own_name}:")
            with try_hold_key_lock(lock, writers) as is_others:
                assert not is_others
        assert not lock.exists()

    def test_key_lock_without_a_name_is_free_after_the_lease(self, lock: Path, writers: Writers) -> None:
        lock.touch()
        assert seconds_waited(lock, writers) > LEASE_S / 2

    @pytest.mark.parametrize("damage", [b"\0" * 45, b"x" * 5000])
    def test_damaged_key_lock_is_free_after_the_lease(self, lock: Path, writers: Writers, damage: bytes) -> None:
        lock.write_bytes(damage)
        assert seconds_waited(lock, writers) > writers.lease_s * 0.5

    def test_key_lock_of_a_dead_process_is_free(self, lock: Path, writers: Writers) -> None:
        lock.write_text("somebody:1", encoding="utf-8")
        assert seconds_waited(lock, writers) < LEASE_S

    def test_lease_files_in_a_shared_folder_are_readable_by_all(self, tmp_path: Path) -> None:
        folder = tmp_path / "shared"
        folder.mkdir()
        folder.chmod(0o777)
        umask = os.umask(0o077)
        try:
            with hold_key_lock(folder / "a.lock", Writers(folder), "making sums"):
                assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o666}
        finally:
            os.umask(umask)


def test_error_names_the_missing_lock_folder(lock: Path, writers: Writers) -> None:
    with pytest.raises(StoreError, match=r"gone/a\.lock: cannot write a lock: No such file"):
        seconds_waited(lock.parent / "gone" / lock.name, writers)
