"""Reports the progress of a sweep, in the terminal and in logs."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from runner.engine.stage import Stage

_SHOWN_FROM_S = 0.1
_EVERY_S_IN_TERMINAL = 10.0
_EVERY_S_IN_LOG = 60.0


class StageProgress:
    """Bars for all stages and for each kind of stage that is running. They vanish at the end.

    A log, and a terminal that cannot move its cursor (TERM=dumb), get plain lines instead. There is one when a slow
    kind of stage is done, and one every 10 seconds (60 in a log) in between.
    """

    def __init__(self, console: Console, order: Sequence[Stage[object]], enabled: bool) -> None:
        self._console = console
        self._n_stages = Counter(stage.kind for stage in order)
        self._titles = {stage.kind: stage.title for stage in order}
        self._seconds = dict.fromkeys(self._n_stages, 0.0)
        self._done = dict.fromkeys(self._n_stages, 0)
        self._live = enabled and console.is_terminal and not console.is_dumb_terminal
        self._enabled = enabled
        self._began = self._printed_at = time.monotonic()
        self._every_s = _EVERY_S_IN_TERMINAL if console.is_terminal else _EVERY_S_IN_LOG
        columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Progress(*columns, console=console, disable=not self._live, transient=True)
        self._all = self._bars.add_task("all stages", total=len(order))
        self._tasks = {
            kind: self._bars.add_task(self._titles[kind], total=n, start=False, visible=False)
            for kind, n in self._n_stages.items()
        }

    def __enter__(self) -> "StageProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def within(self, stage: Stage[object], done: int, total: int) -> None:
        """Report that a stage has done `done` of `total` units of its work. A `total` of 0 means unknown."""
        if self._live and total:
            self._bars.start_task(self._tasks[stage.kind])
            completed = self._done[stage.kind] + done / total
            self._bars.update(self._tasks[stage.kind], completed=completed, visible=True)
        self._print_periodically(f"; {self._titles[stage.kind]}: {done:,} of {total:,}" if total else "")

    def finished(self, kind: str, seconds: float) -> None:
        """Report that a stage of this kind ended. `seconds` is the time of its computation, or 0 if it was reused."""
        if kind not in self._n_stages:
            return
        self._done[kind] += 1
        self._seconds[kind] += seconds
        is_done = self._done[kind] == self._n_stages[kind]
        self._bars.start_task(self._tasks[kind])
        self._bars.update(self._tasks[kind], completed=self._done[kind], visible=not is_done)
        self._bars.advance(self._all)
        if is_done:
            self._bars.stop_task(self._tasks[kind])
            if self._enabled and not self._live and self._seconds[kind] >= _SHOWN_FROM_S:
                self._console.print(
                    f"  {self._titles[kind]:<24} {self._done[kind]:>4} done in {self._seconds[kind]:.1f} s"
                )
        self._print_periodically("")

    def _print_periodically(self, running: str) -> None:
        now = time.monotonic()
        if self._enabled and not self._live and now - self._printed_at >= self._every_s:
            self._printed_at = now
            n_done, n_all = sum(self._done.values()), sum(self._n_stages.values())
            elapsed = timedelta(seconds=round(now - self._began))
            self._console.print(f"  {n_done:,} of {n_all:,} stages done after {elapsed}{running}", markup=False)
