"""The report as Markdown, for pull requests and descriptions of runs: answer, tables and warnings, without pictures."""

from collections.abc import Iterable, Iterator, Sequence

from analysis.decision.recommendations import SHOWN
from analysis.report.cells_section import CellTable, interval_text
from analysis.report.markdown_text import plain, prose_text, table
from analysis.report.report_record import Report
from analysis.report.sample_classes import CLASSES
from analysis.report.scenarios_section import ScenarioChoice, ScenarioRow, Scenarios
from runner.console.display import escape_control
from runner.console.styled_text import duration, number


def render(report: Report) -> str:
    """Return the report as Markdown, with all data escaped."""
    return (
        "\n".join(
            [
                *_answer(report),
                *_scenarios(report),
                *_cells(report),
                *_axes(report),
                *_cost(report),
                *_failures(report),
                *_trust(report),
                *_reproduce(report),
            ]
        )
        + "\n"
    )


def _answer(report: Report) -> Iterator[str]:
    yield "# Which configuration?"
    yield ""
    yield f"Sweep {plain(report.sweep)} \u00b7 {plain(report.answer.about)}"
    yield ""
    yield prose_text(report.answer.sentence)
    if report.answer.in_full:
        yield ""
        yield f"All values of {report.answer.cell}: {plain(report.answer.in_full)}"
    if report.warnings:
        yield ""
        yield f"> **Read with care.** {plain('. '.join(check.head for check in report.warnings))}."
    if report.answer.figures:
        yield ""
    for figure in report.answer.figures:
        yield f"- {plain(figure.head)}: **{plain(figure.value)}** ({plain(figure.note)})"


def _scenarios(report: Report) -> Iterator[str]:
    if report.scenarios is None:
        return
    yield ""
    yield "## What to take for each scenario"
    yield ""
    if rows := [row for group in report.scenarios.groups for row in group.rows_with_enough_samples]:
        yield from _scenario_table(report.scenarios, rows, report.compared_at)
    yield from (
        f"Too few samples or groups to name anything: {plain(group.too_few)}."
        for group in report.scenarios.groups
        if group.too_few
    )


def _scenario_table(scenarios: Scenarios, rows: Iterable[ScenarioRow], compared_at: str) -> Iterator[str]:
    names_cells = scenarios.names_cells
    if names_cells:
        yield (
            f"Each column compares the values of one axis, {plain(compared_at)}. The cell to take may have other "
            "values, because it was chosen as one combination."
        )
    yield from table(
        ["scenario", "n", *map(plain, scenarios.axes), *(["best cell"] if names_cells else [])],
        (
            [
                plain(row.label),
                f"{row.n:,}",
                *(_choice(row.choices.get(axis)) for axis in scenarios.axes),
                *([_best_cell(row)] if names_cells else []),
            ]
            for row in rows
        ),
    )


def _best_cell(row: ScenarioRow) -> str:
    return f"{plain(row.best)} ({plain(row.best_note)})" if row.best else plain(row.best_note)


def _choice(choice: ScenarioChoice | None) -> str:
    if choice is None:
        return "\u2013"
    head = f"**{plain(choice.head)}**" if choice.verdict == SHOWN else plain(choice.head)
    return f"{head} ({plain(choice.note)})" if choice.note else head


def _cells(report: Report) -> Iterator[str]:
    yield ""
    yield "## All cells"
    if report.cells.why_no_tables:
        yield ""
        yield report.cells.why_no_tables
    for cell_table in report.cells.tables:
        yield ""
        yield f"### {plain(cell_table.title)}"
        yield from _cell_table(cell_table, report.cells.axes)
        if cell_table.why_not:
            yield plain(cell_table.why_not)
        if cell_table.n_more:
            yield f"The first {len(cell_table.shown)} of {len(cell_table.rows)} rows; all are in report.json."
        yield from (f"- {plain(note)}" for note in cell_table.notes)
    if report.cells.failed:
        yield ""
        yield "Cells that failed:"
        yield ""
        yield from (f"- {plain(', '.join(names))}: {plain(reason)}" for reason, names in report.cells.failed)
    if report.cells.stopped:
        yield ""
        yield "Stopped cells, which are not part of the other tables:"
        yield ""
        yield from (f"- {plain(', '.join(names))}: {plain(reason)}" for reason, names in report.cells.stopped)
    if report.cells.unfinished:
        yield ""
        yield f"No result yet: {plain(', '.join(report.cells.unfinished))}."


def _cell_table(cell_table: CellTable, axes: Sequence[str]) -> Iterator[str]:
    heads = [
        *map(plain, axes or ["cell"]),
        plain(cell_table.metric),
        "95% interval",
        "difference from the best",
        "adj. p",
        "verdict",
    ]
    yield from table(
        heads,
        (
            [
                *(plain(row.levels[axis]) for axis in axes),
                *([] if axes else [plain(row.name)]),
                number(row.mean, cell_table.digits),
                interval_text(row, cell_table.digits),
                "" if row.difference is None else number(row.difference, cell_table.digits, "+"),
                "" if row.p_adjusted is None else number(row.p_adjusted),
                cell_table.verdict_text(row),
            ]
            for row in cell_table.shown
        ),
    )


def _axes(report: Report) -> Iterator[str]:
    if not report.axes:
        return
    scenario = report.axes[0]
    yield ""
    yield "## Effect of each axis"
    yield ""
    yield (
        f"{plain(scenario.label)}: differences in {plain(report.metric)} from one value of each axis "
        "(bold: significant). The intervals are simultaneous within an axis."
    )
    if report.scenarios is not None:
        yield (
            f"The table of scenarios corrects for all of its choices ({report.scenarios.n_tested}) together. A "
            "difference that is significant here, where one axis is tested alone, may therefore not be significant "
            "there."
        )
    yield from table(
        ["axis", "value", "mean", "difference", "95% interval"],
        (
            [
                plain(axis.axis),
                plain(level.level),
                number(level.mean, axis.digits),
                _strong(number(level.difference, axis.digits, "+"), is_strong=level.is_shown),
                ""
                if level.low is None
                else f"{number(level.low, axis.digits, '+')} to {number(level.high, axis.digits, '+')}",
            ]
            for axis in scenario.axes
            for level in axis.levels
        ),
    )
    yield from (
        f"- {plain(axis.axis)}: not comparable with the others: {', '.join(map(plain, axis.apart))}"
        for axis in scenario.axes
        if axis.apart
    )
    yield from (
        f"- {plain(one.text)} ({'significant' if one.is_shown else 'not significant'})" for one in scenario.interactions
    )


def _strong(text: str, *, is_strong: bool) -> str:
    return f"**{text}**" if is_strong else text


def _failures(report: Report) -> Iterator[str]:
    yield ""
    yield "## Where it fails, and why"
    if report.failures is None:
        yield ""
        yield plain(report.why_no_failures)
        return
    failures = report.failures
    yield ""
    yield "Number of samples of each cell, by where they fail."
    yield from table(
        ["cell", *(plain(CLASSES[name].label) for name in failures.classes)],
        (
            [plain(row.name), *(f"{row.counts[name]:,}" if name in row.counts else "" for name in failures.classes)]
            for row in failures.rows
        ),
    )
    if failures.n_cells_left_out:
        yield f"{failures.n_cells_left_out} more cells are not in this table."


def _cost(report: Report) -> Iterator[str]:
    if report.cost is None:
        return
    cost = report.cost
    yield ""
    yield "## Quality against cost"
    yield ""
    yield f"Bold: no other cell is at least as good in {plain(cost.metric)} and at least as cheap, and better in one."
    yield from table(
        ["cell", plain(cost.metric), *map(plain, cost.heads.values())],
        (
            [
                plain(row.name),
                number(row.value, cost.digits),
                *(_cost_text(row.costs[name], name, is_on_front=name in row.on_front_of) for name in cost.heads),
            ]
            for row in cost.rows
        ),
    )


def _cost_text(value: float | None, name: str, *, is_on_front: bool) -> str:
    if value is None:
        return "\u2013"
    text = duration(value) if "seconds" in name else number(value, 4 if name == "cost" else 0)
    return _strong(text, is_strong=is_on_front)


def _trust(report: Report) -> Iterator[str]:
    yield ""
    yield "## How far to trust these results"
    yield ""
    for check in report.checks:
        yield f"- {check.kind}: **{plain(check.head)}.** {plain(check.text)}"


def _reproduce(report: Report) -> Iterator[str]:
    yield ""
    yield "## Reproduce"
    for command in report.reproduce.commands:
        yield ""
        yield f"{plain(command.purpose)}:"
        yield ""
        yield f"    {' '.join(escape_control(command.line).split())}"
    yield ""
    for name, text in report.reproduce.facts:
        yield f"- {plain(name)}: {plain(text)}"
