r"""Tables in LaTeX, for documents with \usepackage{booktabs} (and, for pdfLaTeX, UTF-8 input, which is its default).

A table is a float with a caption, a label and at most `MAX_COLUMNS` columns. Ids of cells are dropped first, because
readers of a paper cannot look them up, then the columns that a narrow terminal drops, then the last ones. A line below
the float names the dropped columns.
"""

import re
from collections.abc import Iterable, Sequence

from analysis.formats.grid import BOLD, INTERVAL, STAR, Grid

MAX_COLUMNS = 8
_MAX_LABEL_CHARACTERS = 60
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
    "[": "{[}",  # after \\ and \toprule, a bracket would begin an option
    "]": "{]}",
    "\u2212": "$-$",
    "\u00b1": r"$\pm$",
    "\u00b7": r"$\cdot$",
    "\u00d7": r"$\times$",
    "\u2192": r"$\rightarrow$",
    "\u2013": "--",
}
_SPECIAL = re.compile("|".join(map(re.escape, _NAMES)))


def table(grid: Grid) -> str:
    """Return a float whose caption has the title and the meanings of the marks, and a line with the dropped columns."""
    indices = _choose_columns(grid)
    columns = "".join("r" if grid.are_numbers[index] else "l" for index in indices)
    caption = " ".join(filter(None, [grid.title.rstrip(".") + "." if grid.title else "", *grid.legend()]))
    left_out = [head for index, head in enumerate(grid.heads) if index not in indices and not grid.is_id(index)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{escape(caption)}}}"] if caption else []),
            *([rf"\label{{{label(grid.title)}}}"] if caption else []),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _row(escape(grid.heads[index]) for index in indices),
            r"\midrule",
            *(_row(_marked_cells(grid, row, indices)) for row in range(len(grid.rows))),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            *([note(f"Columns left out: {', '.join(left_out)}. --format csv has all of them.")] if left_out else []),
        ]
    )


def note(text: str) -> str:
    """Return a paragraph in small print."""
    return rf"{{\footnotesize {escape(text)}\par}}"


def label(title: str) -> str:
    """Return the label for references: "tab:" and the ASCII words of the title, or "tab:results" if it has none."""
    words = "-".join(re.findall(r"[a-z0-9]+", title.lower()))
    whole_words = words if len(words) <= _MAX_LABEL_CHARACTERS else words[:_MAX_LABEL_CHARACTERS].rpartition("-")[0]
    return f"tab:{whole_words or words[:_MAX_LABEL_CHARACTERS] or 'results'}"


def escape(text: str) -> str:
    """Return a text on one line, with all special characters escaped."""
    return _SPECIAL.sub(lambda match: _NAMES[match[0]], " ".join(text.split()))


def _choose_columns(grid: Grid) -> list[int]:
    """Return the positions of the written columns. The starred number is always among them."""
    indices = [index for index in range(len(grid.heads)) if not grid.is_id(index)]
    if all(grid.are_numbers[index] for index in indices):  # only ids distinguish the rows
        indices = list(range(len(grid.heads)))
    first_to_go = sorted(indices, key=lambda index: (not grid.is_optional(index), -index))
    droppable = [index for index in first_to_go if index not in (indices[0], grid.starred)]
    dropped = droppable[: max(0, len(indices) - MAX_COLUMNS)]
    return [index for index in indices if index not in dropped]


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _with_minus(number: str) -> str:
    """Replace a hyphen by a minus sign, which is longer in text."""
    return re.sub(r"(?<!\w)-(?=\d)", lambda _: "$-$", number)


def _number(cell: str) -> str:
    """Return an interval in brackets, with minus signs."""
    ends = INTERVAL.fullmatch(cell)
    return _with_minus(escape(f"[{ends[1]}, {ends[2]}]" if ends else cell))


def _marked_cells(grid: Grid, row: int, indices: Sequence[int]) -> list[str]:
    cells = {
        index: _number(grid.rows[row][index]) if grid.are_numbers[index] else escape(grid.rows[row][index])
        for index in indices
    }
    if grid.mark(row) == BOLD:
        return [rf"\textbf{{{cell}}}" if cell else "" for cell in cells.values()]
    if grid.mark(row) == STAR:
        cells[grid.starred] += "$^{*}$"
    return list(cells.values())
