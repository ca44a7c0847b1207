r"""Tables in LaTeX, for documents with \usepackage{booktabs} (and, for pdfLaTeX, UTF-8 input, which is its default)."""

import re
from collections.abc import Iterable

from analysis.formats.grid import BOLD, STAR, Grid

_NAMES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",  # behind \\ and \toprule a bracket would begin an option
    "]": "{]}",
    "\u2212": "$-$",
    "\u00b1": r"$\pm$",
    "\u00b7": r"$\cdot$",
    "\u2013": "--",
}
_SPECIAL = re.compile("|".join(map(re.escape, _NAMES)))


def table(grid: Grid) -> str:
    """A float with its title as caption, what its marks mean among it."""
    columns = "".join("r" if is_number else "l" for is_number in grid.are_numbers)
    caption = " ".join(filter(None, [grid.title.rstrip(".") + "." if grid.title else "", *grid.legend()]))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{escaped(caption)}}}"] if caption else []),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _row(map(escaped, grid.heads)),
            r"\midrule",
            *(_row(_marked(grid, place)) for place in range(len(grid.rows))),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def note(text: str) -> str:
    """A paragraph in small print."""
    return rf"{{\footnotesize {escaped(text)}\par}}"


def escaped(text: str) -> str:
    """A text that shows as it is, in one line: no command comes of it."""
    return _SPECIAL.sub(lambda found: _NAMES[found[0]], " ".join(text.split()))


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _with_minus(number: str) -> str:
    """In text a hyphen is shorter than a minus."""
    return re.sub(r"(?<!\w)-(?=\d)", lambda _: "$-$", number)


def _marked(grid: Grid, place: int) -> list[str]:
    cells = [
        _with_minus(escaped(cell)) if is_number else escaped(cell)
        for cell, is_number in zip(grid.rows[place], grid.are_numbers, strict=True)
    ]
    if grid.mark(place) == BOLD:
        return [rf"\textbf{{{cell}}}" if cell else "" for cell in cells]
    if grid.mark(place) == STAR:
        cells[grid.starred] += "$^{*}$"
    return cells
