"""MLflow beside a sweep: a process of its own logs the cells, so that stages neither wait for it nor fail with it."""

import contextlib
import json
import shlex
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from components.secrets.mask import masked
from runner.output.own_process import own_environment

if TYPE_CHECKING:  # the process is started before the pipeline is loaded
    from runner.pipeline.settings import TrackingSettings

_LAST_WORDS_S = 10
_PATIENCE_S = 10.0


def default_uri(results_dir: Path) -> str:
    """A SQLite file beside the results."""
    return f"sqlite:///{(results_dir.resolve().parent / 'mlflow.db').as_posix()}"


def where_to_look(uri: str, page: str) -> str:
    """How to see what was logged: the page, after the command that serves it unless a server does."""
    if uri.startswith(("http://", "https://")):
        return page
    return f"mlflow ui --backend-store-uri {shlex.quote(uri)}\n          then open {page}"


def samples_line(page: str, told: str) -> str:
    """Where samples are shown step by step, and which; `page` is "" if none are, though they were wanted."""
    return f"samples:  {page}\n          {told}" if page else "samples:  none, as no cell has a result that ranks it"


class _LoggingProcess:
    """The process that logs, with what it says. It ends when nobody holds it any more."""

    def __init__(self) -> None:
        """Starts it: it loads MLflow and waits. Raises OSError."""
        self.said = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - as long as the process
        try:
            self.process = _started(self.said)
        except OSError:
            self.said.close()
            raise
        self.close = weakref.finalize(self, _end, self.process, self.said)


_early: list[_LoggingProcess] = []


def load_early() -> None:
    """Starts the process for the next sweep before anything is known of it: MLflow takes seconds to load, which pass
    while the sweep is composed. One that cannot be started is tried again, and reported, by the tracker.
    """
    if not _early:
        with contextlib.suppress(OSError):
            _early.append(_LoggingProcess())


class SafeTracker:
    """A tracker that never costs a result: the first failure is kept in `error`, and nothing is logged after it. When
    it has finished without one, `page` is the address of what it logged, and `samples` a line about samples with
    traces, "" if none were wanted.

    It only says which folders are complete; `runner.output.logging_process` reads and logs them. That process ends
    after the cell at hand if this one is gone, and leaves Ctrl-C to this one.
    """

    def __init__(self, settings: "TrackingSettings", experiment: str, sweep_dir: Path) -> None:
        """Opens nothing yet."""
        self.enabled = settings.enabled
        self.uri = settings.uri or default_uri(sweep_dir.parent)
        self.error = ""
        self.page = ""
        self.samples = ""
        self._n_traces = "all" if settings.traces is None else str(settings.traces)
        self._arguments = [self.uri, experiment, str(sweep_dir.resolve()), settings.subsets.value]
        self._logging: _LoggingProcess | None = None
        self._is_finishing = False

    def prepare(self) -> None:
        """Starts the process, unless one was started early: the sooner, the less anyone waits for it later."""
        if not self.enabled or self._logging or self.error:
            return
        try:
            self._logging = _early.pop() if _early else _LoggingProcess()
        except OSError as error:
            self.error = f"its process did not start: {error}"

    def start(self) -> None:
        """Opens the sweep's parent run, from `sweep.json`."""
        self.prepare()
        self._send("start", *self._arguments)

    def log_cell(self, folder: Path) -> None:
        """One child run from a cell's folder, in time."""
        self._send("cell", str(folder.resolve()))

    def ask_to_finish(self, *, with_traces: bool = True) -> None:
        """Says that no cell comes any more and `sweep.json` is final; the caller may do other things meanwhile."""
        if not self._is_finishing:
            self._is_finishing = True
            self._send("finish", self._n_traces if with_traces else "0")

    def finish(self, limit_s: float | None = None, announce: Callable[[str], None] = lambda line: None) -> None:
        """Waits until all is logged, at most `limit_s`; a Ctrl-C meanwhile ends the logging, not the caller. `announce`
        is told if it takes long, as with a server that answers nothing.
        """
        self.ask_to_finish(with_traces=limit_s is None)
        if self._logging is None:
            return
        try:
            answer = self._answer(limit_s, announce)
            told = _told(answer, self._logging.process.returncode, self._logging.said)
            self.page, self.error = told.get("page", ""), self.error or told["error"]
            if self._n_traces != "0" and not self.error:
                self.samples = samples_line(told["samples"], told["told"])
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            self._logging.process.terminate()
            self.error = "interrupted before all cells were logged"
        self._logging.close()
        self._logging = None

    def _answer(self, limit_s: float | None, announce: Callable[[str], None]) -> str:
        assert self._logging is not None, "the caller has looked"
        process = self._logging.process
        try:
            return process.communicate(timeout=_PATIENCE_S if limit_s is None else limit_s)[0]
        except subprocess.TimeoutExpired:
            if limit_s is not None:
                raise
        announce(f"waiting for MLflow at {self.uri}; the results are written, Ctrl-C leaves it")
        return process.communicate()[0]

    def _send(self, *order: str) -> None:
        if self._logging is None or self.error:
            return
        orders = self._logging.process.stdin
        assert orders is not None, "it was asked for"
        try:
            orders.write(json.dumps(order) + "\n")
            orders.flush()
        except BrokenPipeError:
            pass  # it ended early: its answer, which `finish` reads, says why


def _started(said: IO[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "runner.output.logging_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        text=True,
        encoding="utf-8",
        env=own_environment(),
        process_group=0,  # Ctrl-C in a terminal goes to the whole group of this one
    )


def _told(answer: str, code: int, said: IO[str]) -> dict[str, str]:
    """The process's own account; without one, how it died as the error."""
    if answer:
        told: dict[str, str] = json.loads(answer)
        return told
    said.seek(0)
    last = ([line.strip() for line in said if line.strip()] or [""])[-1]
    return {"error": masked(f"its process ended with exit code {code}" + (f": {last}" if last else ""))}


def _end(process: "subprocess.Popen[str]", said: IO[str]) -> None:
    """The end of its input ends the process of a tracker that was given up, after the cell at hand."""
    assert process.stdin is not None, "it was asked for"
    assert process.stdout is not None, "it was asked for"
    with contextlib.suppress(BrokenPipeError):  # what it did not read any more
        process.stdin.close()
    try:
        process.wait(_LAST_WORDS_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
    process.stdout.close()
    said.close()
