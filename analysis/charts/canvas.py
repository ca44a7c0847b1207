"""Common parts of charts: the frame, text, lines, colours, and a scale from values to pixels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from runner.console import svg
from runner.console.display import escape_control

INK = "var(--ink, #1a1d21)"
MUTED = "var(--muted, #5a626c)"
LINE = "var(--line, #d5d9de)"
PAPER = "var(--paper, #ffffff)"
ACCENT = "var(--accent, #1b6a9c)"
SOFT = "var(--soft, #8fb4cd)"
PALE = "var(--pale, #b9c2cb)"

SERIES = tuple(
    f"var(--series-{number}, {colour})"
    for number, colour in enumerate(
        ("#1b6a9c", "#b5390d", "#2b7a4b", "#7a1fa0", "#8a6d00", "#0b8389", "#c2185b", "#5f6670"), start=1
    )
)
"""Colours of series."""

LEGEND_ROW = 18

FONT_SIZE = 12
_CHARACTER = 0.58
"""Approximate width of a Latin character, as a share of the font size."""
_MAX_CHARACTERS = 60


@dataclass(frozen=True)
class Scale:
    """A linear scale from values in [`low`, `high`] to pixels. If both are equal, every value maps to the middle."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value in pixels, rounded to a tenth."""
        if self.high <= self.low:
            return round((self.start + self.end) / 2, 1)
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, n_ticks: int = 5) -> list[float]:
        """Return about `n_ticks` round values within the scale."""
        if self.high <= self.low:
            return [self.low]
        step = _round_step((self.high - self.low) / max(n_ticks, 1))
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


def _round_step(step: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def padded_range(values: Iterable[float], *, margin: float = 0.05) -> tuple[float, float]:
    """Return the range of the values, extended by a margin at both ends; the range (0, 1) for no values."""
    numbers = list(values)
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = (high - low) * margin or abs(high) * margin or 1.0
    return low - room, high + room


def tick_label(value: float) -> str:
    """Format a value for an axis, without trailing zeros."""
    return f"{value:,.10g}".replace("-", "\u2212")


def text_width(label: str, size: float = FONT_SIZE) -> int:
    """Estimate the width of a label in pixels."""
    cells = sum(1.75 if svg.is_wide_character(character) else 1.0 for character in shorten_label(label))
    return round(cells * size * _CHARACTER)


def shorten_label(label: str) -> str:
    """Shorten a label to the characters that a chart has room for."""
    return label if len(label) <= _MAX_CHARACTERS else f"{label[: _MAX_CHARACTERS - 1]}\u2026"


def text(
    x: float, y: float, plain: str, *, anchor: str = "start", ink: str = INK, bold: bool = False, size: int = FONT_SIZE
) -> str:
    """Return a line of text with its baseline at `y`."""
    weight = ' font-weight="600"' if bold else ""
    end = f' text-anchor="{anchor}"' if anchor != "start" else ""
    small = f' font-size="{size}"' if size != FONT_SIZE else ""
    label = svg.text(escape_control(shorten_label(plain)))
    return f'<text x="{x:g}" y="{y:g}"{end}{weight}{small} fill="{ink}">{label}</text>'


def line(x1: float, y1: float, x2: float, y2: float, *, stroke: str = LINE, width: float = 1, dash: str = "") -> str:
    """Return a straight line as SVG."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{stroke}" stroke-width="{width:g}"{dashes} '
        'stroke-linecap="round"/>'
    )


def series_stroke(number: int) -> tuple[str, str]:
    """Return colour and dash pattern of a series. After the last colour, colours repeat with dashes."""
    return SERIES[number % len(SERIES)], "5 4" if number >= len(SERIES) else ""


def legend(labels: Sequence[str], x: float, y: float) -> list[str]:
    """Return one row per label, `LEGEND_ROW` pixels apart, from (`x`, `y`) downwards."""
    parts = []
    for number, label in enumerate(labels):
        stroke, dash = series_stroke(number)
        middle = y + 8 + number * LEGEND_ROW
        parts.append(line(x, middle, x + 22, middle, stroke=stroke, width=3, dash=dash))
        parts.append(text(x + 30, middle + 4, label))
    return parts


def svg_document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Return the complete SVG. Screen readers read out `title`."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{svg.text(escape_control(title))}" '
            f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" font-family="{svg.FONTS}" '
            f'font-size="{FONT_SIZE}">',
            *parts,
            "</svg>",
        ]
    )
