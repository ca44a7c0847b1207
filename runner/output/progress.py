"""Reports the progress of a sweep, in the terminal and in logs."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from runner.engine.stage import Stage
from runner.output.time_left import TimeLeft, time_left_text

_SHOWN_FROM_S = 0.1
_EVERY_S_IN_TERMINAL = 10.0
_EVERY_S_IN_LOG = 60.0


class StageProgress:
    """Bars for all stages and for each kind of stage that is running. They vanish at the end.

    A log, and a terminal that cannot move its cursor (TERM=dumb), get plain lines instead. There is one when a slow
    kind of stage is done, and one every 10 seconds (60 in a log) in between. Both show the time left once enough is
    done to estimate it (see `TimeLeft`).
    """

    def __init__(
        self,
        console: Console,
        order: Sequence[Stage[object]],
        n_cells: int,
        enabled: bool,
        *,
        with_kinds: bool = True,
    ) -> None:
        """Without `with_kinds`, a log has no line per kind of stage, because a search has many rounds."""
        self._console = console
        self._n_stages = Counter(stage.kind for stage in order)
        self._titles = {stage.kind: stage.title for stage in order}
        self._seconds = dict.fromkeys(self._n_stages, 0.0)
        self._done = dict.fromkeys(self._n_stages, 0)
        self._live = enabled and console.is_terminal and not console.is_dumb_terminal
        self._enabled = enabled
        self._with_kinds = with_kinds
        self._began = self._printed_at = time.monotonic()
        self._left = TimeLeft(order, self._began)
        self._n_cells = n_cells
        self._n_cells_done = 0
        self._every_s = _EVERY_S_IN_TERMINAL if console.is_terminal else _EVERY_S_IN_LOG
        name, time_left = TextColumn("{task.description:<24}"), TextColumn("{task.fields[left]}")
        columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), time_left)
        self._bars = Progress(*columns, console=console, disable=not self._live, transient=True)
        self._all = self._bars.add_task("all stages", total=len(order), left="")
        self._tasks = {
            kind: self._bars.add_task(self._titles[kind], total=n, start=False, visible=False, left="")
            for kind, n in self._n_stages.items()
        }

    def __enter__(self) -> "StageProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def update(self, stage: Stage[object], done: int, total: int) -> None:
        """Report that a stage has done `done` of `total` units of its work. A `total` of 0 means unknown."""
        now = time.monotonic()
        if total:
            self._left.update(stage.key, done / total, now)
        if self._live and total:
            self._bars.start_task(self._tasks[stage.kind])
            completed = self._done[stage.kind] + done / total
            time_left = (
                time_left_text(self._left.stage_seconds_left(stage.key)) if self._n_stages[stage.kind] == 1 else ""
            )
            self._bars.update(self._tasks[stage.kind], completed=completed, visible=True, left=time_left)
            self._bars.update(self._all, left=time_left_text(self._left.seconds_of_sweep(now)))
        self._print_periodically(stage, done, total)

    def idle(self, seconds: float) -> None:
        """Record that nothing ran for some seconds, because the sweep was paused."""
        self._left.idle(seconds)

    def summarize(self) -> tuple[int, int, float | None]:
        """Return the number of stages that ended, the number of all, and the seconds left, None if unknown."""
        return sum(self._done.values()), sum(self._n_stages.values()), self._left.seconds_of_sweep(time.monotonic())

    def cell_finished(self) -> None:
        """Report that all results of a cell are written."""
        self._n_cells_done += 1

    def record_end(self, key: str, kind: str, seconds: float) -> None:
        """Report that a stage of this kind ended. `seconds` is the time of its computation, or 0 if it was reused."""
        if kind not in self._n_stages:
            return
        self._left.record_end(key, seconds)
        self._done[kind] += 1
        self._seconds[kind] += seconds
        is_done = self._done[kind] == self._n_stages[kind]
        self._bars.start_task(self._tasks[kind])
        self._bars.update(self._tasks[kind], completed=self._done[kind], visible=not is_done)
        self._bars.update(self._all, advance=1, left=time_left_text(self._left.seconds_of_sweep(time.monotonic())))
        if is_done:
            self._bars.stop_task(self._tasks[kind])
            if self._enabled and self._with_kinds and not self._live and self._seconds[kind] >= _SHOWN_FROM_S:
                self._console.print(
                    f"  {self._titles[kind]:<24} {self._done[kind]:>4} done in {self._seconds[kind]:.1f} s"
                )
        self._print_periodically()

    def _print_periodically(self, running: Stage[object] | None = None, done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        if self._enabled and not self._live and now - self._printed_at >= self._every_s:
            self._printed_at = now
            n_done, n_all = sum(self._done.values()), sum(self._n_stages.values())
            cells = f" and {self._n_cells_done:,} of {self._n_cells:,} cells" if self._n_cells > 1 else ""
            elapsed = timedelta(seconds=round(now - self._began))
            line = f"  {n_done:,} of {n_all:,} stages{cells} done after {elapsed}"
            all_left = time_left_text(self._left.seconds_of_sweep(now))
            if all_left:
                line += f", {all_left}"
            if running and total:
                line += f"; {self._titles[running.kind]}: {done:,} of {total:,}"
                time_left = time_left_text(self._left.stage_seconds_left(running.key))
                line += f" ({time_left})" if time_left and not all_left else ""
            self._console.print(line, markup=False)
