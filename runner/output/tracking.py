"""Logs a sweep to MLflow while it runs, in a separate process: stages neither wait for MLflow nor fail with it."""

import contextlib
import json
import re
import shlex
import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from components.errors import ConfigError
from components.secrets.mask import mask_text
from runner.output.own_process import module_command, module_environment

if TYPE_CHECKING:  # the process is started before the pipeline is loaded
    from runner.pipeline.settings import TrackingSettings

_EXIT_TIMEOUT_S = 10
_ANNOUNCE_AFTER_S = 10.0
_DATABASE = "sqlite:///"
_ENCODED = re.compile("%[0-9A-Fa-f]{2}")


def default_uri(results_dir: Path) -> str:
    """Return the URI of a SQLite file next to the folder of results."""
    return f"{_DATABASE}{(results_dir.resolve().parent / 'mlflow.db').as_posix()}"


def wrong_file(uri: str) -> str:
    """Return an error if MLflow would open a file that a local database's URI does not name, "" otherwise.

    MLflow decodes `%20`, and the path ends at the first `?`. Options such as `?timeout=5` are fine.
    """
    if not uri.startswith(_DATABASE):
        return ""
    path, _, options = uri.removeprefix(_DATABASE).partition("?")
    is_cut = bool(options) and ("/" in options or "=" not in options)
    named = f"{Path(path).resolve()}{'?' * is_cut}{options * is_cut}"
    mark = "?" if "?" in named else next(iter(_ENCODED.findall(named)), "")
    if not mark:
        return ""
    return (
        f"MLflow would open a file other than {named}, because of the {mark} in its name. Choose a database in another "
        f"folder ({_DATABASE}/FOLDER/mlflow.db)"
    )


def where_to_look(uri: str, page: str) -> str:
    """Return instructions to see the logged sweep: the page, and the command that serves it if no server does."""
    if uri.startswith(("http://", "https://")):
        return page
    return f"mlflow ui --backend-store-uri {shlex.quote(uri)}\n          then open {page}"


def samples_line(page: str, summary: str) -> str:
    """Return a line about the page that shows samples step by step, or about its absence if `page` is ""."""
    if not page:
        return "samples:  none, because no cell has a result that ranks it"
    return f"samples:  {page}\n          {summary}"


class _LoggingProcess:
    """The process that logs, with a file for its standard error. It ends with the last reference to this object."""

    def __init__(self) -> None:
        """Start the process, which loads MLflow and waits. Raises OSError if the system cannot start it."""
        self.errors = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - `_end` closes it
        try:
            self.process = _start_process(self.errors)
        except OSError:
            self.errors.close()
            raise
        self.close = weakref.finalize(self, _end, self.process, self.errors)


_early: list[_LoggingProcess] = []


def load_early() -> None:
    """Start the process for the next sweep now, so that it loads MLflow while the sweep is composed.

    If it cannot be started, the tracker tries again and reports the error.
    """
    if not _early:
        with contextlib.suppress(OSError):
            _early.append(_LoggingProcess())


class SafeTracker:
    """Logs a sweep in a separate process. Its failures cost no result: `error` has the first, and no logging follows.

    After a successful end, `page` is the address of the logged sweep, and `samples` a line about samples with traces,
    "" if none were requested.

    The tracker only reports which folders are complete: `runner.output.logging_process` reads and logs them. That
    process ends after the current cell if this process dies, and leaves Ctrl-C to this process.
    """

    def __init__(self, settings: "TrackingSettings", experiment: str, sweep_dir: Path) -> None:
        """Store the settings. Starts no process, and opens no file.

        Raises ConfigError if `wrong_file` finds an error.
        """
        self.enabled = settings.enabled
        self.uri = settings.uri or default_uri(sweep_dir.parent)
        if self.enabled and (error := wrong_file(self.uri)):
            raise ConfigError(f"tracking.uri: {error}, or set tracking=none")
        self.error = ""
        self.page = ""
        self.samples = ""
        self._n_traces = "all" if settings.traces is None else str(settings.traces)
        self._arguments = [self.uri, experiment, str(sweep_dir.resolve()), settings.subsets.value]
        self._logging: _LoggingProcess | None = None
        self._is_finishing = False

    def prepare(self) -> None:
        """Start the process, unless it was started early, so that it loads MLflow in the meantime."""
        if not self.enabled or self._logging or self.error:
            return
        try:
            self._logging = _early.pop() if _early else _LoggingProcess()
        except OSError as error:
            self.error = f"its process did not start: {error}"

    def start(self) -> None:
        """Open the parent run of the sweep, from `sweep.json`."""
        self.prepare()
        self._send("start", *self._arguments)

    def log_cell(self, folder: Path) -> None:
        """Log a child run from the folder of a cell. Does not wait for it."""
        self._send("cell", str(folder.resolve()))

    def ask_to_finish(self, *, with_traces: bool = True) -> None:
        """Report that no more cells follow and `sweep.json` is final. Does not wait for the end of the logging."""
        if not self._is_finishing:
            self._is_finishing = True
            self._send("finish", self._n_traces if with_traces else "0")

    def finish(self, limit_s: float | None = None, announce: Callable[[str], None] = lambda line: None) -> None:
        """Wait until everything is logged, at most `limit_s` seconds.

        Ctrl-C ends the logging, not the caller. `announce` is called with a line if it takes long, as with a server
        that does not answer.
        """
        self.ask_to_finish(with_traces=limit_s is None)
        if self._logging is None:
            return
        try:
            output = self._wait_for_output(limit_s, announce)
            answer = _parse_answer(output, self._logging.process.returncode, self._logging.errors)
            self.page, self.error = answer.get("page", ""), self.error or answer["error"]
            if self._n_traces != "0" and not self.error:
                self.samples = samples_line(answer["samples"], answer["summary"])
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            self._logging.process.terminate()
            self.error = "interrupted before all cells were logged"
        self._logging.close()
        self._logging = None

    def _wait_for_output(self, limit_s: float | None, announce: Callable[[str], None]) -> str:
        assert self._logging is not None, "the caller has checked"
        process = self._logging.process
        try:
            return process.communicate(timeout=_ANNOUNCE_AFTER_S if limit_s is None else limit_s)[0]
        except subprocess.TimeoutExpired:
            if limit_s is not None:
                raise
        announce(f"waiting for MLflow at {self.uri}; the results are written, and Ctrl-C stops waiting")
        return process.communicate()[0]

    def _send(self, *order: str) -> None:
        if self._logging is None or self.error:
            return
        orders = self._logging.process.stdin
        assert orders is not None, "the process has a pipe"
        try:
            orders.write(json.dumps(order) + "\n")
            orders.flush()
        except BrokenPipeError:
            pass  # the process ended early, and `finish` reads why from its answer


def _start_process(errors: IO[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own module
        module_command("runner.output.logging_process"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        encoding="utf-8",
        env=module_environment(),
        process_group=0,  # a terminal sends Ctrl-C to the whole group of this process
    )


def _parse_answer(output: str, code: int, errors: IO[str]) -> dict[str, str]:
    """Return the answer of the process. If it wrote none, the error is its exit code and its last line."""
    if output:
        answer: dict[str, str] = json.loads(output)
        return answer
    errors.seek(0)
    last = ([line.strip() for line in errors if line.strip()] or [""])[-1]
    return {"error": mask_text(f"its process ended with exit code {code}" + (f": {last}" if last else ""))}


def _end(process: "subprocess.Popen[str]", errors: IO[str]) -> None:
    """Close the input of a process, which ends it after the current cell. Terminate it if that takes long."""
    assert process.stdin is not None, "the process has a pipe"
    assert process.stdout is not None, "the process has a pipe"
    with contextlib.suppress(BrokenPipeError):  # the process ended before it read everything
        process.stdin.close()
    try:
        process.wait(_EXIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
    process.stdout.close()
    errors.close()
