"""Process that logs a sweep to MLflow: python -m runner.output.logging_process

Standard input has one order per line, as a JSON list:

    ["start", tracking URI, experiment, folder of the sweep, metrics of subsets: "headline" or "all"]
    ["cell", folder]
    ["finish", number of samples to trace, or "all"]

At the end, one JSON object is written to standard output. "page" is the address of the logged sweep, and "samples" the
address of its traces or "". "summary" is a line about the traces or "", and "error" the reason of a failure or "".

If the input ends before "finish", the sweep was killed. This process then logs the cells that it has received, and ends
too.
"""

import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

from components.errors import RagGridError
from components.secrets.mask import mask_text
from components.secrets.output import mask_output
from runner.output.mlflow_runs import CELLS_TOGETHER, Tracker

Order = list[str]
_GONE: Order = ["gone"]
"""Wakes the thread that logs when the sweep has died."""


def main() -> int:
    """Follow the orders, and write the answer. Returns 0, also if the answer is an error."""
    mask_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep decides what Ctrl-C means
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answer:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # MLflow's output must not mix with the answer
        json.dump(_log(), answer)
    return 0


def _leave(code: int) -> None:
    """End the process immediately. The sweep is waiting, and an orderly exit of MLflow takes a while for nothing."""
    sys.stderr.flush()
    os._exit(code)


def _log() -> dict[str, str]:
    """Follow all orders, and return the answer."""
    tracker = None
    answer = {"page": "", "samples": "", "summary": "", "error": ""}
    try:
        for order, *words in _orders():
            if order == "start":
                uri, experiment, sweep_dir, *subsets = words
                tracker = Tracker(uri, experiment, Path(sweep_dir), every="all" in subsets)
            elif order == "cell" and tracker:
                tracker.log_cells([Path(folder) for folder in words])
            elif order == "finish" and tracker:
                logged = tracker.finish(parse_n_traces(words[0]))
                answer |= {"page": logged.pages.cells, "samples": logged.pages.samples, "summary": str(logged.traced)}
    except Exception as error:  # noqa: BLE001 - MLflow may raise anything; the sweep shows the error at its end
        return answer | {"error": error_line(error)}
    return answer


def parse_n_traces(text: str) -> int | None:
    """Return the number of samples to trace, or None for "all". Raises ValueError for other words."""
    return None if text == "all" else int(text)


def error_line(error: Exception) -> str:
    """Return the first line of an error without secrets, after its type unless it is one of our errors."""
    line = (str(error).splitlines() or [""])[0]
    return mask_text(line if isinstance(error, RagGridError) else f"{type(error).__name__}: {line}")


def _orders() -> Iterator[Order]:
    """Yield orders as they arrive, up to "finish" or the death of the sweep. Waiting cells are joined to one order.

    A thread reads them, so that the sweep never waits for a full pipe. Meanwhile, MLflow is loaded.
    """
    queue: SimpleQueue[Order] = SimpleQueue()
    gone = Event()
    Thread(target=_read_orders, args=(queue, gone), daemon=True).start()
    _load_mlflow()
    while True:
        waiting = [queue.get()]
        while len(waiting) < CELLS_TOGETHER and not queue.empty():
            waiting.append(queue.get())
        for kind, orders in groupby(waiting, itemgetter(0)):
            if gone.is_set():
                return
            yield [kind, *chain.from_iterable(words for _, *words in orders)]
            if kind == "finish":
                return


def _load_mlflow() -> None:
    """Load MLflow before the first order, because that takes seconds.

    Garbage collection finds nothing in modules, and would add a fifth to the time.
    """
    gc.disable()
    for module in ("mlflow", "mlflow.store.tracking.sqlalchemy_store"):
        importlib.import_module(module)
    gc.freeze()
    gc.enable()


def _read_orders(queue: "SimpleQueue[Order]", gone: Event) -> None:
    order: Order = []
    for line in sys.stdin:
        order = json.loads(line)
        queue.put(order)
        if order[0] == "finish":
            return
    if not order:
        os._exit(0)  # nothing was started, and a sweep that waits for this end need not wait until MLflow is loaded
    gone.set()
    queue.put(_GONE)


if __name__ == "__main__":
    _leave(main())
