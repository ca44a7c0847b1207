"""The process that logs a sweep to MLflow: python -m runner.output.logging_process

Standard input has one order per line, a JSON list: ["start", uri, experiment, folder of the sweep, metrics of subsets:
"headline" or "all"], ["cell", folder], ["finish", how many samples to trace: a number or "all"]. At the end there is
JSON on standard output: {"page": the address of what was logged, "samples": that of its traces or "", "told": a line
about these or "", "error": ""}, or what went wrong as the error. The end of the input before "finish" means that the
sweep is gone; the cells at hand are logged to their end, and then this process ends too.
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
from components.secrets.mask import masked
from components.secrets.output import mask_output
from runner.output.mlflow_runs import CELLS_TOGETHER, Tracker

Order = list[str]
_GONE: Order = ["gone"]


def main() -> int:
    """Logs what it is told to; returns 0 if it could say how that went."""
    mask_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep decides what Ctrl-C means
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answer:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the answer alone goes there, nothing of MLflow
        json.dump(_log(), answer)
    return 0


def _leave(code: int) -> None:
    """Ends at once: the sweep waits, and taking MLflow down in good order takes a while and does nothing."""
    sys.stderr.flush()
    os._exit(code)


def _log() -> dict[str, str]:
    """Obeys all orders; returns the answer."""
    tracker = None
    answer = {"page": "", "samples": "", "told": "", "error": ""}
    try:
        for order, *words in _orders():
            if order == "start":
                uri, experiment, sweep_dir, *subsets = words
                tracker = Tracker(uri, experiment, Path(sweep_dir), every="all" in subsets)
            elif order == "cell" and tracker:
                tracker.log_cells([Path(folder) for folder in words])
            elif order == "finish" and tracker:
                logged = tracker.finish(n_traces(words[0]))
                answer |= {"page": logged.pages.cells, "samples": logged.pages.samples, "told": str(logged.traced)}
    except Exception as error:  # noqa: BLE001 - whatever MLflow raises; the sweep shows it at its end
        return answer | {"error": told(error)}
    return answer


def n_traces(text: str) -> int | None:
    """What is meant by a number, or by "all": None. Raises ValueError."""
    return None if text == "all" else int(text)


def told(error: Exception) -> str:
    """Its first line, with its type unless it is one of ours, which say all."""
    line = (str(error).splitlines() or [""])[0]
    return masked(line if isinstance(error, RagGridError) else f"{type(error).__name__}: {line}")


def _orders() -> Iterator[Order]:
    """Orders as they come, up to "finish", or until the sweep is gone. Cells that wait make one order.

    A thread takes them, so that the sweep never waits for a full pipe, and MLflow is loaded meanwhile.
    """
    taken: SimpleQueue[Order] = SimpleQueue()
    gone = Event()
    Thread(target=_take, args=(taken, gone), daemon=True).start()
    _load_mlflow()
    while True:
        waiting = [taken.get()]
        while len(waiting) < CELLS_TOGETHER and not taken.empty():
            waiting.append(taken.get())
        for kind, orders in groupby(waiting, itemgetter(0)):
            if gone.is_set():
                return
            yield [kind, *chain.from_iterable(words for _, *words in orders)]
            if kind == "finish":
                return


def _load_mlflow() -> None:
    """It takes seconds, which are better spent before the first order, and a fifth more with garbage collection, which
    finds nothing in modules.
    """
    gc.disable()
    for module in ("mlflow", "mlflow.store.tracking.sqlalchemy_store"):  # the names are in use elsewhere
        importlib.import_module(module)
    gc.freeze()
    gc.enable()


def _take(waiting: "SimpleQueue[Order]", gone: Event) -> None:
    order: Order = []
    for line in sys.stdin:
        order = json.loads(line)
        waiting.put(order)
        if order[0] == "finish":
            return
    if not order:
        os._exit(0)  # nothing was begun: the sweep, which waits for this end, need not wait until MLflow is loaded
    gone.set()
    waiting.put(_GONE)


if __name__ == "__main__":
    _leave(main())
