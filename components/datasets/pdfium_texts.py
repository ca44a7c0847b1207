"""Texts of PDF files by PDFium, read in a second process: native code that crashes or hangs does not end this one."""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from components.datasets import parsing_time, pdfium_process
from components.datasets.parsing_memory import MAX_PAGE_GIB, memory_error
from components.datasets.parsing_time import timeout_error
from components.errors import DataError

_PACKAGE, _NATIVE_PART = "pypdfium2", "pypdfium2_raw"
_WAIT_FOR_END_S = 10
_GIB = 2**30


def read_with_pdfium(file: Path) -> list[str]:
    """Return the title and the text of each page.

    Raises DataError for a page that makes PDFium crash, or that takes more than a minute of CPU time or 8 GiB of
    memory, or if the system does not let the file be read; ValueError for a file that PDFium cannot read, and
    ImportError without its package.
    """
    with _Shared.lock:
        if _Shared.reader and _Shared.reader.process.poll() is not None:
            _end_reader()  # the reader died after the previous file
        try:
            _Shared.reader = _Shared.reader or _Reader()
        except OSError as error:
            raise _system_error(file, str(error)) from error
        texts: list[str] = []
        try:
            end = _Shared.reader.read(file, texts)
        except EOFError as error:
            raise _death(_location(file, texts), _end_reader(wait=True)) from error
        except BaseException:  # otherwise the next read would receive this file's reply
            _end_reader()
            raise
    if "error" in end:
        raise _error(end["kind"], end["error"], file, texts)
    return texts


def _error(kind: str, reason: str, file: Path, texts: list[str]) -> Exception:
    if kind == "memory":
        return memory_error(_location(file, texts))
    if kind == "system":
        return _system_error(file, reason)
    return ImportError(reason) if kind == "import" else ValueError(reason)


def _system_error(file: Path, reason: str) -> DataError:
    return DataError(
        f"{file}: the system did not let PDFium read it ({reason}). Check that the file exists and is readable, "
        "and that the limits on open files, processes and memory suffice."
    )


class _Reader:
    """A process that reads files. It ends with this process."""

    def __init__(self) -> None:
        package = find_spec(_PACKAGE)
        if package is None or package.origin is None:
            raise ModuleNotFoundError(f"No module named {_PACKAGE!r}", name=_PACKAGE)
        native = find_spec(_NATIVE_PART)
        origins = [spec.origin for spec in (package, native) if spec is not None and spec.origin is not None]
        folders = dict.fromkeys(str(Path(origin).parents[1]) for origin in origins)
        # The working directory must not be on its path. An empty entry of `PYTHONPATH` would add it.
        options = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONPATH")}
        self.process = subprocess.Popen(  # noqa: S603 - our own module
            # Without site packages (-S), the package comes from no other folder than that found here.
            [sys.executable, "-P", "-S", "-X", "utf8", pdfium_process.__file__, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # unbuffered: a fork must not inherit a half-written order
            env=options,
            process_group=0,  # a terminal sends Ctrl-C to the whole group of this process
        )
        assert isinstance(self.process.stdin, FileIO), "it has a pipe"
        assert isinstance(self.process.stdout, FileIO), "it has a pipe"
        self._orders, self._answers = self.process.stdin, BufferedReader(self.process.stdout)

    def read(self, file: Path, texts: list[str]) -> dict[str, Any]:
        """Append title and texts of the pages, and return the last answer. Raises EOFError if the process dies."""
        order = {
            "file": os.path.abspath(file),  # noqa: PTH100 - links stay as they are
            "cpu_s": parsing_time.MAX_PAGE_S,
            "memory_bytes": MAX_PAGE_GIB * _GIB,
        }
        with suppress(BrokenPipeError):  # the process has died, and has no answer
            self._orders.write(json.dumps(order).encode() + b"\n")
        while True:
            line = self._answers.readline()
            if not line.endswith(b"\n"):
                raise EOFError
            answer: dict[str, Any] = json.loads(line)
            if "text" not in answer:
                return answer
            texts.append(answer["text"])

    def end(self, *, wait: bool) -> int:
        """End the process and return its exit code. With `wait`, let it exit by itself."""
        self.leave()
        if wait:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_WAIT_FOR_END_S)
        self.process.kill()
        self._answers.close()
        return self.process.wait()

    def leave(self) -> None:
        """Send no more orders. The process ends when no process can send it any."""
        self._orders.close()


class _Shared:
    lock = threading.Lock()
    reader: _Reader | None = None
    left: _Reader | None = None
    """The parent's reader. Not closed: a thread that no longer exists may hold its lock."""


def _end_reader(*, wait: bool = False) -> int:
    """End the process, if there is one, and return its exit code; a negative one is the signal that ended it."""
    reader, _Shared.reader = _Shared.reader, None
    return reader.end(wait=wait) if reader else 0


def _leave_reader() -> None:
    """Let the next file start another process, because this process is a fork of the one that the reader serves."""
    _Shared.left, _Shared.reader, _Shared.lock = _Shared.reader, None, threading.Lock()
    if _Shared.left:
        _Shared.left.leave()


atexit.register(_end_reader)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_reader)


def _location(file: Path, texts: list[str]) -> str:
    """Return the page at which reading failed; the file if it has no text yet. The first text is the title."""
    return f"{file}, page {len(texts)}" if texts else str(file)


def _death(location: str, exit_code: int) -> DataError:
    if exit_code == -signal.SIGXCPU:
        return timeout_error(location)
    if exit_code >= 0:
        return DataError(
            f"{location}: the process that reads PDF files ended with exit code {exit_code}. This is not the fault of "
            "the file. Run the same command again, or choose another parser."
        )
    name = signal.Signals(-exit_code).name
    return DataError(
        f"{location}: PDFium crashed ({name}), as it does on some damaged files, and on pages that take more than "
        f"{MAX_PAGE_GIB} GiB of memory. Repair the file, convert it to text, or remove it."
    )
