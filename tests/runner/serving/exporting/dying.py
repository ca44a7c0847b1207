"""Exports that die before one of their steps, simulated in this process; and exports in forked processes, to be killed.

To fork this process takes seconds on some machines, so that death before each step is played here: every further call
that changes a file fails, and nobody by the writer's name is alive.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.engine.file_operations import exchange
from runner.engine.store import Store
from runner.engine.store.writers import Writers
from runner.serving.exporting import exported_folder as export_folder
from runner.serving.exporting.exported_cell import ExportedCell
from runner.serving.exporting.exported_folder import write_folder
from runner.serving.exporting.requirements import Requirements

_CHANGING = ("link", "mkdir", "rename", "replace", "rmdir", "unlink")


@contextmanager
def quick_exports() -> Iterator[None]:
    """Skip files that take seconds to write and are irrelevant to kills."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_folder, "write_model", lambda *_: None)
        patch.setattr(export_folder, "open_samples", lambda _: nullcontext(SimpleNamespace(read=lambda **_: None)))
        patch.setattr(export_folder, "write_check", lambda folder, *_: folder.mkdir())
        patch.setattr(export_folder, "requirements", lambda *_: Requirements((), ()))
        patch.setattr(export_folder, "_copy_code", lambda _, folder: folder.mkdir())
        yield


class Death(BaseException):
    """Stands for SIGKILL."""


class _NobodyAlive(Writers):
    @property
    def own_name(self) -> str:
        return "a-host-1-0123456789abcdef"


class _Steps:
    """Counts steps: calls that rename a folder, or the file that names its owner."""

    def __init__(self, fatal: int | None) -> None:
        self.n = 0
        self._fatal = fatal
        self._is_dead = False

    def of(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            is_step = "dir_fd" not in named and not {"new", "old"} & set(Path(arguments[0]).parts[:-1])
            self._is_dead |= is_step and self.n == self._fatal
            if self._is_dead:
                raise Death
            self.n += is_step
            return call(*arguments, **named)

        return step


def die(cell: ExportedCell, out: Path, fatal: int | None = None, *, can_swap: bool = True) -> int:
    """Export, and die before step `fatal`, or never. Return the number of completed steps."""
    store, steps = Store(cell.store.root), _Steps(fatal)
    store.writers = _NobodyAlive(store.root / "writers")
    with pytest.MonkeyPatch.context() as patch, suppress(Death):
        for name in _CHANGING:
            patch.setattr(os, name, steps.of(getattr(os, name)))
        patch.setattr(export_folder, "exchange", steps.of(exchange) if can_swap else lambda *_: False)
        write_folder(replace(cell, store=store), out)
    return steps.n


def start(cell: ExportedCell, out: Path, killed_after_s: float = 0) -> int:
    """The process that exports; it ends with 0. The system kills it after that time (0: never), as SIGKILL would."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, killed_after_s)
        write_folder(cell, out)
        code = 0
    finally:
        os._exit(code)


def end_of(child: int) -> int:
    """The exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
