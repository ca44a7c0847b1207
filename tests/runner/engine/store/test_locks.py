"""Locks in the presence of other processes and users."""

import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock

from runner.engine.spending import shared_numbers as numbers
from runner.engine.spending.shared_numbers import SharedNumbers
from runner.engine.store import locks
from runner.engine.store.claims import Claims
from runner.engine.store.locks import hold_lock


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Return a folder in which all users may write. With this umask, new files belong only to the user by default."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def test_process_waiting_for_a_file_lock_logs_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "_WARN_AFTER_S", 0.05)
    path = tmp_path / "a.lock"
    others = FileLock(path)
    others.acquire()
    waiting = threading.Thread(target=lambda: hold_lock(path, "making vectors").__enter__(), daemon=True)
    waiting.start()
    until = time.monotonic() + 20
    while not caplog.records and time.monotonic() < until:
        time.sleep(0.01)
    others.release()
    waiting.join(20)
    assert not waiting.is_alive()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"waiting for another process, which is making vectors (it holds {path})"


def test_process_without_a_wait_logs_no_message(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with hold_lock(tmp_path / "a.lock", "making vectors"):
        pass
    assert not caplog.records


@pytest.mark.parametrize("kind", ["lock", "claims"])
def test_file_lock_is_usable_by_all_users_of_a_shared_folder(kind: str, shared: Path) -> None:
    path = shared / "a.lock"
    umask = os.umask(0o077)
    try:
        with hold_lock(path, "x") if kind == "lock" else Claims(path).take(["k"]):
            assert next(shared.glob("a.lock*")).stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(umask)


def test_file_lock_in_a_private_folder_is_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with hold_lock(tmp_path / "a.lock", "x"):
        assert (tmp_path / "a.lock").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks there")
def test_process_waiting_for_shared_numbers_names_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(numbers, "_WARN_AFTER_S", 0.05)
    path = tmp_path / "spent"
    holder = subprocess.Popen([sys.executable, "-c", _HOLD_A_FILE, str(path)], stdout=subprocess.PIPE)
    assert holder.stdout
    with holder, holder.stdout:
        assert holder.stdout.readline() == b"held\n"
        threading.Timer(0.3, holder.kill).start()
        with SharedNumbers(path, 1).change() as found:
            found[0] += 1
    (record,) = caplog.records
    assert record.getMessage() == (
        f"waiting for another process, which holds {path}. If it is suspended (Ctrl-Z), resume or end it."
    )
    with SharedNumbers(path, 1).change() as found:
        assert found == [1]


_HOLD_A_FILE = """
import fcntl, sys, time
with open(sys.argv[1], "wb") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    time.sleep(60)
"""
