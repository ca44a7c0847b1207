"""The report as Markdown, for a pull request or a run's description: answer, tables and warnings, without pictures."""

import re
from collections.abc import Iterable, Iterator, Sequence

from analysis.report.cells import CellTable, interval_text
from analysis.report.prose import Prose, duration, number
from analysis.report.record import Report
from runner.display import printable

_MARKUP = re.compile(r"([\\`*_\[\]|~#])")


def render(report: Report) -> str:
    """Markdown in which all data are text."""
    return "\n".join([*_answer(report), *_cells(report), *_cost(report), *_trust(report), *_reproduce(report)]) + "\n"


def plain(text: object) -> str:
    """On one line, with what Markdown or HTML would take for markup escaped."""
    line = " ".join(printable(str(text)).split())
    return _MARKUP.sub(r"\\\1", line).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _prose(sentence: Prose) -> str:
    """Spaces stay outside of the stars."""
    return "".join(
        f"**{plain(piece)}**" if place % 2 and piece.strip() else _spaced(piece)
        for place, piece in enumerate(sentence.pieces)
    )


def _spaced(piece: str) -> str:
    before, after = (" " if piece[:1].isspace() else ""), (" " if piece[-1:].isspace() and piece.strip() else "")
    return f"{before}{plain(piece)}{after}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _answer(report: Report) -> Iterator[str]:
    yield "# Which configuration?"
    yield ""
    yield f"Sweep {plain(report.sweep)} \u00b7 {plain(report.answer.about)}"
    yield ""
    yield _prose(report.answer.sentence)
    if report.warnings:
        yield ""
        yield f"> **Read with care.** {plain('; '.join(check.head for check in report.warnings))}."
    if report.answer.figures:
        yield ""
    for figure in report.answer.figures:
        yield f"- {plain(figure.head)}: **{plain(figure.value)}** ({plain(figure.note)})"


def _cells(report: Report) -> Iterator[str]:
    yield ""
    yield "## All cells"
    for table in report.cells.tables:
        yield ""
        yield f"### {plain(table.title)}"
        yield from _cell_table(table, report.cells.axes)
        if table.why_not:
            yield plain(table.why_not)
        if table.n_more:
            yield f"The first {len(table.shown)} of {len(table.rows)} rows; all are in report.json."
        yield from (f"- {plain(note)}" for note in table.notes)
    if report.cells.failed:
        yield ""
        yield "Cells that failed:"
        yield ""
        yield from (f"- {plain(', '.join(names))}: {plain(reason)}" for reason, names in report.cells.failed)
    if report.cells.unfinished:
        yield ""
        yield f"No result yet: {plain(', '.join(report.cells.unfinished))}."


def _cell_table(table: CellTable, axes: Sequence[str]) -> Iterator[str]:
    heads = [
        *map(plain, axes or ["cell"]),
        plain(table.metric),
        "95 % interval",
        "against the best",
        "adj. p",
        "verdict",
    ]
    yield from _table(
        heads,
        (
            [
                *(plain(row.levels[axis]) for axis in axes),
                *([] if axes else [plain(row.name)]),
                number(row.mean, table.digits),
                interval_text(row, table.digits),
                "" if row.difference is None else number(row.difference, table.digits, "+"),
                "" if row.p_adjusted is None else number(row.p_adjusted),
                row.verdict,
            ]
            for row in table.shown
        ),
    )


def _cost(report: Report) -> Iterator[str]:
    if report.cost is None:
        return
    cost = report.cost
    yield ""
    yield "## Quality against cost"
    yield ""
    yield f"Cells that no other one beats in both {plain(cost.metric)} and some cost (bold)."
    yield from _table(
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
    return f"**{text}**" if is_on_front else text


def _trust(report: Report) -> Iterator[str]:
    yield ""
    yield "## How far to trust this"
    yield ""
    for check in report.checks:
        yield f"- {check.kind}: **{plain(check.head)}** {plain(check.text)}"


def _reproduce(report: Report) -> Iterator[str]:
    yield ""
    yield "## Reproduce"
    for command in report.reproduce.commands:
        yield ""
        yield f"{plain(command.purpose)}:"
        yield ""
        yield f"    {' '.join(printable(command.line).split())}"
    yield ""
    for name, text in report.reproduce.facts:
        yield f"- {plain(name)}: {plain(text)}"
