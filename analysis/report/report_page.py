"""The report as one self-contained HTML page. All of its content is visible without JavaScript."""

import re
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from analysis.charts.canvas import padded_range
from analysis.charts.dots import Dot, interval
from analysis.comparison_family import MAY_BE_BEST
from analysis.html import page_environment
from analysis.report.cells_section import BEST, CellRow, CellTable, Span, interval_text
from analysis.report.report_record import Report
from analysis.report.sample_classes import CLASSES
from analysis.report.samples_section import MAX_CHARACTERS
from runner.console.display import escape_control
from runner.console.styled_text import Prose, duration, number

_TEMPLATES = Path(__file__).parent / "templates"


def render(report: Report) -> str:
    """Return the HTML of the whole page. All data are escaped."""
    rows = report.failures.rows if report.failures else ()
    return (
        report_environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            classes=CLASSES,
            names_of={row.cell_id: row.name for row in rows},
            max_characters=MAX_CHARACTERS,
        )
    )


def report_environment(*templates: Path) -> Environment:
    """Return the environment of the report's templates, and of others that use them."""
    environment = page_environment(*templates, _TEMPLATES)
    environment.filters |= {
        "number": number,
        "duration": duration,
        "prose": _prose,
        "span": span,
        "svg": Markup,
        "interval": interval_text,
        "own_file": _own_file,
        "breakable": _breakable,
    }
    environment.globals |= {"picture_of": _draw_interval}
    return environment


def _own_file(name: str) -> Markup:
    """Return the content of a bundled style sheet or script."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 - no data


def _breakable(name: str) -> Markup:
    """Return a name that may wrap after four characters and a "_" or ".": a head is no wider than its column."""
    return Markup(re.sub(r"(?<=\w{4}[_.])(?=\w)", "<wbr>", str(escape(escape_control(name)))))  # noqa: S704 - escaped


def _prose(sentence: Prose) -> Markup:
    """Return the sentence with strong pieces in <strong>. All pieces, such as names of cells, are escaped."""
    formats = (Markup("{}"), Markup("<strong>{}</strong>"))
    pieces = [formats[i % 2].format(escape_control(piece)) for i, piece in enumerate(sentence.pieces)]
    return Markup("").join(pieces)


def span(span: Span | None, unit: str = "tokens") -> str:
    """Format one value, or the smallest and the largest of cells that share a row, with the unit once."""
    if span is None:
        return "\u2013"
    parts = [duration(value) if unit == "seconds" else f"{value:,.0f}" for value in span]
    first, last = parts[0].partition(" "), parts[-1].partition(" ")
    if first[2] == last[2] and first != last:
        parts[0] = first[0]
    return " \u2013 ".join(dict.fromkeys(parts))


def _draw_interval(row: CellRow, table: CellTable) -> Markup:
    """Return the row's value and interval on the scale of the table."""
    ends = [end for each in table.shown for end in (each.own_mean, each.low, each.high) if end is not None]
    dot = Dot(row.name, row.own_mean, row.low, row.high, is_strong=row.verdict in (BEST, MAY_BE_BEST))
    return Markup(interval(dot, *padded_range(ends, margin=0.02)))  # noqa: S704 - only numbers
