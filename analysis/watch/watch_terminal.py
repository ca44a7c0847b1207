"""The state of a sweep in the terminal: once, refreshed in place, or as log lines."""

import time

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from analysis.report.cells_section import CellRow, CellTable, interval_text
from analysis.report.report_page import span
from analysis.table_output import TableColumn, fitting_table
from analysis.watch.sweep_watcher import ONLY_FINISHED, WatchedSweep, Watcher
from runner.console.styled_text import number

_REFRESH_S = 1.0
_LINE_EVERY_S = 10.0
_MIN_ROWS = 5
_LINES_AROUND = 4


def watch(console: Console, watcher: Watcher) -> None:
    """Show the state until the sweep has ended. Raises DataError if a file of the sweep cannot be read."""
    watched = watcher.look()
    if not console.is_terminal or console.is_dumb_terminal:
        watched = _print_lines(console, watcher, watched)
        show(console, watched)
        return
    with Live(_screen(console, watched), console=console, auto_refresh=False, transient=True) as live:
        while watched.is_running:
            time.sleep(_REFRESH_S)
            watched = watcher.look()
            live.update(_screen(console, watched), refresh=True)
    show(console, watched)


def show(console: Console, watched: WatchedSweep) -> None:
    """Print the state with all rows."""
    console.print(_screen(console, watched, limited=False))


def _print_lines(console: Console, watcher: Watcher, watched: WatchedSweep) -> WatchedSweep:
    """Print a line every few seconds if the state has changed. Return the last state."""
    last = ""
    while watched.is_running:
        line = "; ".join([watched.state, *(f"{each.head.lower()} {each.value}" for each in watched.figures)])
        if watched.figures[0].value not in last or not last:
            console.print(line, markup=False)
            last = line
        time.sleep(_LINE_EVERY_S)
        watched = watcher.look()
    return watched


def _screen(console: Console, watched: WatchedSweep, *, limited: bool = True) -> Group:
    head = Table.grid(padding=(0, 2, 0, 0))
    for figure in watched.figures:
        head.add_row(figure.head, f"[bold]{figure.value}[/]", f"[dim]{figure.note}[/]")
    parts: list[str | Table] = [f"[bold]{watched.sweep}[/] {watched.state}", head, *watched.lines, ""]
    apart = [
        f"{what}: {', '.join(names)}: {reason}"
        for what, reasons in (("Failed", watched.failed), ("Stopped", watched.stopped))
        for reason, names in reasons
    ]
    n_around = len(watched.figures) + len(watched.lines) + len(apart) + _LINES_AROUND * 2
    n_rows = max(console.height - n_around, _MIN_ROWS) if limited else len(watched.table.rows if watched.table else ())
    return Group(*parts, *_leaderboard(console, watched, n_rows), *apart)


def _leaderboard(console: Console, watched: WatchedSweep, n_rows: int) -> list[Table | str]:
    table = watched.table
    if table is None:
        return [
            "No finished cell has a value of a metric that ranks cells yet." if watched.is_running else "No result."
        ]
    leaderboard, dropped = fitting_table(console, f"Finished cells by {table.title}", _columns(watched, table, n_rows))
    notes = [f"the first {n_rows:,} of {len(table.rows):,} cells"] if len(table.rows) > n_rows else []
    notes += [f"a wider terminal also shows: {', '.join(dropped)}"] if dropped else []
    return [leaderboard, *(f"[dim]{note}[/]" for note in notes), *([ONLY_FINISHED] if watched.is_running else [])]


def _columns(watched: WatchedSweep, table: CellTable, n_rows: int) -> list[TableColumn]:
    rows: tuple[CellRow, ...] = table.rows[:n_rows]
    return [
        TableColumn("cell", [row.cell_ids[0] for row in rows], is_number=False),
        *(TableColumn(axis, [row.levels[axis] for row in rows], is_number=False) for axis in watched.axes),
        TableColumn(table.metric, [number(row.mean, table.digits) for row in rows]),
        TableColumn("95% interval", [interval_text(row, table.digits) for row in rows]),
        TableColumn("n", [f"{row.n:,}" for row in rows], optional=True),
        TableColumn("context tokens", [span(row.context_tokens) for row in rows], optional=True),
        TableColumn("time per question", [span(row.seconds, "seconds") for row in rows], optional=True),
    ]
