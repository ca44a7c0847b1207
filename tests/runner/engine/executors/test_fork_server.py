import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from components.child_processes import end_with_parent
from runner.engine.executors import contexts, fork_server
from runner.engine.executors.fork_server import ForkServer

_LONG_S = 60.0

loaded: list[str] = []


def load() -> None:
    loaded.append("it")


def load_and_note(done: Path) -> None:
    load()
    done.touch()


def load_slowly() -> None:
    time.sleep(0.5)


def load_what_is_broken() -> None:
    raise OSError("no such library")


def tell(question: str, pipe: Connection) -> None:
    pipe.send({"question": question, "loaded": loaded, "pid": os.getpid(), "parent": os.getppid()})
    pipe.recv()
    os._exit(3)


def tell_surroundings(name: str, pipe: Connection) -> None:
    pipe.send((os.environ.get(name), Path.cwd(), sys.path))


def wait_for_the_end(start: None, pipe: Connection) -> None:
    end_with_parent()
    pipe.send(os.getpid())
    time.sleep(_LONG_S)


def is_running(pid: int) -> bool:
    """Return False for a process that ended, even if its exit status was not collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + _LONG_S
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkServer]:
    done = tmp_path / "done"
    server = ForkServer([load_what_is_broken, partial(load_and_note, done)])
    wait_for(done.exists)
    yield server
    server.end()


@pytest.fixture
def early() -> Iterator[ForkServer]:
    """Start the fork server of this process, and end it after the test."""
    fork_server.start_early([])
    server = fork_server.early_server()
    assert server
    yield server
    fork_server.end_early()
    assert not fork_server.early_server()


class TestForkServer:
    def test_forked_workers_inherit_the_loaded_modules(self, server: ForkServer) -> None:
        """Workers notice themselves which modules the server could not load."""
        workers = [server.start(tell, str(n)) for n in range(2)]
        told = [pipe.recv() for _, pipe in workers]
        assert [(one["question"], one["loaded"]) for one in told] == [("0", ["it"]), ("1", ["it"])]
        assert len({one["pid"] for one in told} | {os.getpid()}) == 3
        assert len({one["parent"] for one in told} - {os.getpid()}) == 1
        assert loaded == [], "it is loaded there, not here"

    def test_fork_server_reports_the_exit_code_of_a_worker(self, server: ForkServer) -> None:
        (killed, pipe), (left, its_pipe) = (server.start(tell, "") for _ in range(2))
        for each in (pipe, its_pipe):
            each.recv()
        its_pipe.send("leave")
        with pytest.raises(EOFError):
            its_pipe.recv()
        assert (killed.end(), left.end()) == (-signal.SIGKILL, 3)

    def test_fork_server_stops_loading_when_a_worker_is_requested(self) -> None:
        server = ForkServer([load, load_slowly, load])
        _, pipe = server.start(tell, "")
        assert pipe.recv()["loaded"] in ([], ["it"])
        server.end()

    def test_forked_workers_start_in_the_directory_of_the_command(
        self, server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SET_LATER", "yes")
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path / "parts")
        _, pipe = server.start(tell_surroundings, "SET_LATER")
        assert pipe.recv() == ("yes", tmp_path, sys.path)

    def test_forked_workers_end_with_the_server(self, server: ForkServer) -> None:
        worker, pipe = server.start(wait_for_the_end, None)
        pid = pipe.recv()
        server.end()
        wait_for(lambda: not is_running(pid))
        assert worker.end() == -signal.SIGKILL

    def test_silent_fork_server_is_abandoned(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fork_server, "_PATIENCE_S", 0.2)
        server = ForkServer([load_slowly])
        time.sleep(0.1)
        with pytest.raises(TimeoutError):
            server.start(tell, "")
        with pytest.raises(OSError, match="Broken pipe"):
            server.start(tell, "")

    def test_stopped_fork_server_does_not_delay_the_end_of_workers(
        self, server: ForkServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fork_server, "_PATIENCE_S", 0.2)
        worker, pipe = server.start(wait_for_the_end, None)
        pid = pipe.recv()
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGSTOP)
        assert worker.end() == -signal.SIGKILL
        with pytest.raises(EOFError):
            pipe.recv()


class TestStartWorker:
    def test_worker_uses_the_fork_server_that_was_started_early(self, early: ForkServer) -> None:
        worker, pipe = contexts.start_worker(tell, "")
        assert pipe.recv()["parent"] != os.getpid()
        assert worker.end() == -signal.SIGKILL

    def test_worker_starts_even_if_the_fork_server_was_killed(self, early: ForkServer) -> None:
        early.end()
        worker, pipe = contexts.start_worker(tell, "")
        assert pipe.recv()["parent"] == os.getpid()
        assert worker.end() == -signal.SIGKILL

    def test_worker_that_cannot_be_pickled_is_forked_directly(
        self, early: ForkServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(contexts, "fork_or_spawn", lambda: get_context("fork"))  # pytest may have started threads
        worker, pipe = contexts.start_worker(lambda start, pipe: pipe.send(start), "as it is")
        assert pipe.recv() == "as it is"
        with contextlib.suppress(EOFError):
            pipe.recv()
        assert worker.end() == 0
