"""Progress of a sweep: lines in logs, and in terminals without cursor movement."""

import io
from collections import Counter
from pathlib import Path

import pytest

from runner.console.display import SafeConsole
from runner.engine.stage import AnyStage
from runner.output import progress as of_progress
from runner.output.progress import StageProgress
from tests.runner.sweeping import plan_small


@pytest.fixture
def order(tmp_path: Path) -> tuple[AnyStage, ...]:
    return plan_small(tmp_path, ["retriever=bm25"]).plan.order


def test_progress_log_has_a_line_per_slow_stage_kind(order: tuple[AnyStage, ...]) -> None:
    assert len({stage.kind for stage in order}) > 1
    slow, n_slow = Counter(stage.kind for stage in order).most_common(1)[0]
    output = io.StringIO()
    with StageProgress(SafeConsole(file=output, width=100), order, 1, enabled=True) as progress:
        for stage in order:
            progress.record_end(stage.key, stage.kind, 0.3 if stage.kind == slow else 0.001)
    title = next(stage.title for stage in order if stage.kind == slow)
    assert output.getvalue().split("\n") == [f"  {title:<24} {n_slow:>4} done in {0.3 * n_slow:.1f} s", ""]


class TestNowAndThen:
    """A clock that the test moves."""

    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [100.0]
        monkeypatch.setattr(of_progress.time, "monotonic", lambda: now[0])
        return now

    def lines(self, console: SafeConsole, order: tuple[AnyStage, ...], clock: list[float], enabled: bool) -> list[str]:
        """Return the progress of a short stage, and of a second one that is half done after 30 and after 75 seconds."""
        with StageProgress(console, order, 1, enabled=enabled) as progress:
            progress.record_end(order[0].key, order[0].kind, 0.0)
            for elapsed in (30.0, 75.0):
                clock[0] = 100.0 + elapsed
                progress.update(order[1], 150, 300)
                progress.update(order[1], 151, 300)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue().splitlines()

    def test_dumb_terminal_shows_plain_progress_lines(
        self, order: tuple[AnyStage, ...], clock: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TERM", "dumb")
        console = SafeConsole(file=io.StringIO(), width=100, force_terminal=True)
        half = f"{order[1].title}: 150 of 300"
        assert self.lines(console, order, clock, enabled=True) == [
            f"  1 of {len(order)} stages done after 0:00:30; {half}",
            f"  1 of {len(order)} stages done after 0:01:15; {half}",
        ]

    def test_progress_log_has_a_line_per_minute(self, order: tuple[AnyStage, ...], clock: list[float]) -> None:
        (line,) = self.lines(SafeConsole(file=io.StringIO(), width=100), order, clock, enabled=True)
        assert "after 0:01:15" in line

    def test_progress_lines_count_cells_and_show_the_time_left(
        self, order: tuple[AnyStage, ...], clock: list[float]
    ) -> None:
        console = SafeConsole(file=io.StringIO(), width=200)
        with StageProgress(console, order, 2, enabled=True) as progress:
            for stage in order[:-1]:
                progress.record_end(stage.key, stage.kind, 0.01)
            progress.cell_finished()
            clock[0] = 100.0
            progress.update(order[-1], 0, 300)
            clock[0] = 200.0
            progress.update(order[-1], 100, 300)
        last = f"{order[-1].title}: 100 of 300"
        line = (
            f"  {len(order) - 1} of {len(order)} stages and 1 of 2 cells done after 0:01:40, about 3 min left; {last}"
        )
        assert console.file.getvalue().splitlines() == [line]

    def test_running_stage_shows_its_own_time_left(self, order: tuple[AnyStage, ...], clock: list[float]) -> None:
        console = SafeConsole(file=io.StringIO(), width=200)
        with StageProgress(console, order, 1, enabled=True) as progress:
            progress.update(order[0], 0, 300)
            clock[0] = 200.0
            progress.update(order[0], 100, 300)
        line = f"  0 of {len(order)} stages done after 0:01:40; {order[0].title}: 100 of 300 (about 3 min left)"
        assert console.file.getvalue().splitlines() == [line]

    def test_disabled_progress_prints_no_lines(self, order: tuple[AnyStage, ...], clock: list[float]) -> None:
        assert self.lines(SafeConsole(file=io.StringIO(), width=100), order, clock, enabled=False) == []
