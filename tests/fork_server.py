"""python -m tests.fork_server: a process that has loaded what our commands load, and forks one for each that is asked
for. To load it anew for each of hundreds takes longer than what most of them do.

Standard input is a socket. Each byte from it comes with three files: where the command writes its output and its
errors, and a socket that brings the order, a line of JSON, and takes the command's process id and exit code, a line
each. When the socket is closed this process ends; commands that still run go on.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from typing import Any

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
    "runner.launch.command",
    "runner.launch.sweep",
    "sacrebleu",
    "scipy.sparse",
    "scipy.stats",
)
"""What commands load by themselves. None brings OpenMP or threads, with which the sweep would not fork its workers."""


def main() -> None:
    """Waits for orders. Returns in the process of a command, at its end, so that it ends as any other Python does."""
    _load()
    orders = socket.socket(fileno=os.dup(0))
    while True:
        byte, files, _, _ = socket.recv_fds(orders, 1, 3)
        if not byte:
            return
        if os.fork() == 0:
            break
        for file in files:
            os.close(file)
        _reap()
    orders.close()
    _run(*files)


def _load() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    from components.tokenizers.cl100k import Cl100k
    from components.tokenizers.jieba_words import JiebaWords
    from runner.engine.executors.contexts import fork_or_spawn
    from runner.launch.compose import compose_config

    compose_config(["top_k=2"])
    for tokenizer in (JiebaWords(), Cl100k()):
        tokenizer.token_ends(["词 word"])
    context = fork_or_spawn().get_start_method()
    assert context == "fork", "something that is preloaded brings threads: sweeps in several processes would be slower"
    gc.freeze()  # no child looks through all this again


def _reap() -> None:
    """Of the processes that wait for a command, those that are done."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _run(output: int, errors: int, talk: int) -> None:
    """In a process between: it waits for the command, which is its child, and tells how it ended."""
    with socket.socket(fileno=talk) as channel, channel.makefile("rw") as lines:
        order: dict[str, Any] = json.loads(lines.readline())
        command = os.fork()
        if command:
            print(command, file=lines, flush=True)
            code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
            print(code, file=lines, flush=True)
            os._exit(0)
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
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
