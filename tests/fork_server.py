"""python -m tests.fork_server: a process that has loaded the modules of our commands, and forks itself for each
command. For most of the hundreds of commands, loading the modules again would take longer than the command itself.

Standard input is a socket that listens at `PLACE`. Each byte from a client comes with three file descriptors: two for
the command's output and errors, and a socket that carries the order, a line of JSON, and takes the command's
process id and exit code, one line each. This process ends when no client is connected. Running commands continue.
on.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from filelock import FileLock

PLACE = "RAG_GRID_TESTS_FORK_SERVER"
"""The environment variable with the path of the socket."""

PRELOADED = (
    "aiohttp",
    "hydra._internal.core_plugins.basic_launcher",
    "hydra._internal.core_plugins.basic_sweeper",
    "hydra._internal.core_plugins.importlib_resources_config_source",
    "jieba.finalseg",
    "logging.config",
    "multiprocessing.popen_fork",
    "pandas",
    "pytrec_eval",
    "rapidfuzz",
    "rich.progress",
    "rich.table",
    "runner.launch.run_command",
    "runner.launch.sweep",
    "sacrebleu",
    "scipy.sparse",
    "scipy.stats",
)
"""Modules that commands load. None may load OpenMP or start threads, because the sweep then could not fork."""


def main() -> None:
    """Wait for orders. Returns only in the process of a command that ends without an exit code."""
    _load()
    files = _serve(socket.socket(fileno=os.dup(0)), Path(os.environ[PLACE]))
    if files:
        _run(*files)


def _load() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    from components.tokenizers.cl100k import Cl100k
    from components.tokenizers.jieba_words import JiebaWords
    from runner.engine.executors.contexts import fork_or_spawn
    from runner.launch.axis_naming import name_axes
    from tests.runner.sweeping import small_graph

    small_graph("top_k=2")
    name_axes({}, {}, ())
    for tokenizer in (JiebaWords(), Cl100k()):
        tokenizer.token_ends(["词 word"])
    context = fork_or_spawn().get_start_method()
    assert context == "fork", "something that is preloaded brings threads: sweeps in several processes would be slower"
    gc.freeze()  # exempts these objects from garbage collection in the children


def lock_of(place: Path) -> Path:
    """Return the path of the lock that clients hold to connect, and the server holds to end."""
    return place.with_suffix(".lock")


def _serve(listener: socket.socket, place: Path) -> tuple[int, int, socket.socket] | None:
    """Fork a command for each order. Returns its files in the child, and None in the server when all clients left."""
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # without a handler, Python does not write to `wake`
    commands: dict[int, socket.socket] = {}
    lines = [listener.accept()[0]]
    while lines:
        ready, _, _ = select.select([*lines, listener, ended], [], [])
        if ended in ready:
            ended.recv(1024)
            _tell_ends(commands)
            continue
        if listener in ready:
            lines.append(listener.accept()[0])
            continue
        byte, files, _, _ = socket.recv_fds(ready[0], 1, 3)
        if not byte:
            lines.remove(ready[0])
            ready[0].close()
            if not lines:
                lines = _accept_last_client(listener, place)
            continue
        output, errors, talk = files
        channel = socket.socket(fileno=talk)
        command = os.fork()
        if command == 0:
            break
        for file in (output, errors):
            os.close(file)
        _tell(channel, command)
        commands[command] = channel
    else:
        return None
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for others in (listener, *lines, ended, wake, *commands.values()):
        others.close()
    return output, errors, channel


def _accept_last_client(listener: socket.socket, place: Path) -> list[socket.socket]:
    """Return a client that connected meanwhile. Without one, remove the socket, so that no client can connect later."""
    with FileLock(lock_of(place)):
        if select.select([listener], [], [], 0)[0]:
            return [listener.accept()[0]]
        place.unlink()
        return []


def _tell_ends(commands: dict[int, socket.socket]) -> None:
    """Send the exit status of every command that has ended."""
    while commands:
        command, status = os.waitpid(-1, os.WNOHANG)
        if not command:
            return
        with commands.pop(command) as channel:
            _tell(channel, os.waitstatus_to_exitcode(status))


def _tell(channel: socket.socket, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the test has ended and no longer waits for the command
        channel.sendall(f"{number}\n".encode())


def _run(output: int, errors: int, talk: socket.socket) -> None:
    with talk, talk.makefile() as lines:
        order: dict[str, Any] = json.loads(lines.readline())
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, place in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(file, place)
        os.close(file)
    os.setsid()
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[0] = order["folder"]
    sys.argv = [order["module"], *order["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests run under nohup
    try:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _leave(ended.code or 0)
    _leave(0)


def _leave(code: int) -> None:
    """End as Python does, but skip the destruction of loaded modules, which takes longer than a fork
    and longer than most commands.
    """
    threading._shutdown()  # waits for non-daemon threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
