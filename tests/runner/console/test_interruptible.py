"""Every command ends with one line and exit code 130 when it is interrupted, even while it is loaded."""

import os
import signal
import subprocess
import sys
import tomllib

import pytest

from runner.console.ending_signals import unmask_interrupts
from tests.runner.sweeping import REPOSITORY

PACKAGES = [
    file.parent.relative_to(REPOSITORY).as_posix().replace("/", ".")
    for top in ("analysis", "benchmarks", "runner")
    for file in (REPOSITORY / top).rglob("__main__.py")
]
COMMANDS = sorted(
    [*PACKAGES, *(f"runner.{file.stem}" for file in (REPOSITORY / "runner").glob("*.py") if file.stem[:2] != "__")]
)
ENTRY_POINTS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"].values()

INTERRUPTED_WHILE_LOADED = """
import importlib, os, runpy, signal, sys
from importlib.abc import MetaPathFinder

class Press(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("argparse", "components.errors", "components.secrets", "hydra", "numpy", "rich"):
            os.kill(os.getpid(), signal.SIGINT)

import runner
sys.meta_path.insert(0, Press())
codes = []
for name in sys.argv[1:]:
    try:
        if ":" in name:
            module, function = name.split(":")
            getattr(importlib.import_module(module), function)()
        else:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        codes.append(ended.code)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # that of a new process
print(codes)
"""

RUNNING = """
import sys, time, types
from runner.console.interruptible import run_main

def main():
    print("runs", flush=True)
    time.sleep(60)

sys.modules["command"] = types.SimpleNamespace(main=main)
run_main("command")
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY)}


def test_every_command_can_be_interrupted_while_it_loads() -> None:
    names = [*COMMANDS, *ENTRY_POINTS]
    assert len(COMMANDS) > 10
    assert len(ENTRY_POINTS) == 2
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADED, *names], env=environment(), capture_output=True, text=True
    )
    assert done.stdout == f"{[130] * len(names)}\n", done.stderr
    assert done.stderr.split() == ["Interrupted."] * len(names)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_running_command_ends_with_one_line_after_a_signal(number: signal.Signals) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", RUNNING],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "runs\n"
    running.send_signal(number)
    said = running.communicate(timeout=60)
    assert (running.returncode, *said) == (130, "", "\nInterrupted.\n")


WAITING = """
import sys, threading, time, types
from runner.console import interruptible

def main():
    threading.Thread(target=time.sleep, args=(seconds,), name="left behind").start()
    print("done", flush=True)

seconds = float(sys.argv[1])
interruptible._PATIENCE_S = 0.3
sys.modules["command"] = types.SimpleNamespace(main=main)
interruptible.run_main("command")
"""


@pytest.mark.parametrize(("seconds", "is_named"), [("60", True), ("0.01", False)])
def test_stderr_names_threads_that_keep_the_command_alive(seconds: str, *, is_named: bool) -> None:
    command = [sys.executable, "-c", WAITING, seconds]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "done\n"
        if is_named:
            assert "waits for threads that a component or a library started (left behind)" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
        assert process.wait(30) == (130 if is_named else 0)
        assert process.stderr.read() == ""


POOL = """
import multiprocessing, time
from runner.console.interruptible import run_interruptibly

def work():
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(next(pool.imap_unordered(time.sleep, [0, 5, 5])))

run_interruptibly(work, "interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_pool_of_a_component_ends_without_tracebacks() -> None:
    """The pool ends its processes with SIGTERM."""
    command = [sys.executable, "-c", POOL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


FORK = """
import os, signal
from runner.console.interruptible import run_interruptibly

def fork():
    if child := os.fork():
        print(os.waitpid(child, 0)[1] == signal.SIGTERM, signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    else:
        os._exit(0)

os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGTERM))
run_interruptibly(fork, "interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_terminate_ends_a_fork_that_has_just_begun() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True set()\n", "")


def fail(depth: int, first: type[BaseException]) -> None:
    """Fail in the clean-up after another exception."""
    try:
        if depth == 0:
            raise first
        fail(depth - 1, first)
    finally:
        if depth:
            {}["flags"]


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(("first", "raised"), [(KeyboardInterrupt, KeyboardInterrupt), (ValueError, KeyError)])
def test_error_raised_during_an_interrupt_becomes_the_interrupt(
    first: type[BaseException], raised: type[BaseException], depth: int
) -> None:
    """A library that cleans up after an interrupt may fail, as OmegaConf does within its flags."""
    with pytest.raises(raised), unmask_interrupts():
        fail(depth, first)
