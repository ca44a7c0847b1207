"""How far a sweep has come, in the terminal and in logs."""

import time
from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from runner.engine.stage import Stage

_SHOWN_FROM_S = 0.1
_EVERY_S_IN_TERMINAL = 10.0
_EVERY_S_IN_LOG = 60.0


class StageProgress:
    """A bar for all stages and one per kind under way, which vanish at the end. A log, and a terminal that moves no
    cursor (TERM=dumb), get plain lines: one when a kind that takes time is done, and one now and then in between.
    """

    def __init__(self, console: Console, order: Sequence[Stage[object]], enabled: bool) -> None:
        self._console = console
        self._left = {kind: sum(stage.kind == kind for stage in order) for kind in dict.fromkeys(s.kind for s in order)}
        self._titles = {stage.kind: stage.title for stage in order}
        self._seconds = dict.fromkeys(self._left, 0.0)
        self._done = dict.fromkeys(self._left, 0)
        self._live = enabled and console.is_terminal and not console.is_dumb_terminal
        self._enabled = enabled
        self._began = self._said = time.monotonic()
        self._every_s = _EVERY_S_IN_TERMINAL if console.is_terminal else _EVERY_S_IN_LOG
        columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Progress(*columns, console=console, disable=not self._live, transient=True)
        self._all = self._bars.add_task("all stages", total=len(order))
        self._tasks = {
            kind: self._bars.add_task(self._titles[kind], total=n, start=False, visible=False)
            for kind, n in self._left.items()
        }

    def __enter__(self) -> "StageProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def within(self, stage: Stage[object], done: int, total: int) -> None:
        """A long stage is `done` of `total` along."""
        if self._live and total:
            self._bars.start_task(self._tasks[stage.kind])
            completed = self._done[stage.kind] + done / total
            self._bars.update(self._tasks[stage.kind], completed=completed, visible=True)
        self._say_now_and_then(f"; {self._titles[stage.kind]}: {done:,} of {total:,}" if total else "")

    def finished(self, kind: str, seconds: float) -> None:
        """A stage of this kind ended."""
        if kind not in self._left:
            return
        self._done[kind] += 1
        self._seconds[kind] += seconds
        is_done = self._done[kind] == self._left[kind]
        self._bars.start_task(self._tasks[kind])
        self._bars.update(self._tasks[kind], completed=self._done[kind], visible=not is_done)
        self._bars.advance(self._all)
        if is_done:
            self._bars.stop_task(self._tasks[kind])
            if self._enabled and not self._live and self._seconds[kind] >= _SHOWN_FROM_S:
                self._console.print(
                    f"  {self._titles[kind]:<24} {self._done[kind]:>4} done in {self._seconds[kind]:.1f} s"
                )
        self._say_now_and_then("")

    def _say_now_and_then(self, under_way: str) -> None:
        now = time.monotonic()
        if self._enabled and not self._live and now - self._said >= self._every_s:
            self._said = now
            n_done, n_all = sum(self._done.values()), sum(self._left.values())
            elapsed = timedelta(seconds=round(now - self._began))
            self._console.print(f"  {n_done:,} of {n_all:,} stages done after {elapsed}{under_way}", markup=False)
