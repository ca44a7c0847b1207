"""Texts in cells that people edit in a spreadsheet.

A cell that a spreadsheet would take for a formula, a number or a date gets an apostrophe in front: 0.50 would become
0.5. A cell that already begins with an apostrophe gets one too. Reading removes one, so that nothing is lost.
"""

import re

from runner.console.display import FORMULA_STARTS

_ESCAPED = (*FORMULA_STARTS, "'")

_VALUES = frozenset({"true", "false", "na", "n/a", "#n/a", "nan", "null", "none", "inf", "infinity"})
"""Words that spreadsheets or pandas read as a truth value, as a number or as no value."""

_MAX_VALUE_CHARACTERS = 40
_MAX_WORDS_IN_VALUE = 3
_WORD = re.compile(r"[^\W\d_]+")


def escape(cell: str) -> str:
    """Return the cell so that no spreadsheet takes it for a formula, a number, a date, a truth value or no value."""
    return f"'{cell}" if cell.startswith(_ESCAPED) or _may_be_converted(cell) else cell


def _may_be_converted(cell: str) -> bool:
    """Return True for a short text with digits and few words, such as 0.50, 3-4, 1e5, 4 März, 50 % or 2020年5月1日."""
    if cell.strip().lower() in _VALUES:
        return True
    if cell.lstrip().startswith("["):  # a list
        return False
    is_short = len(cell) <= _MAX_VALUE_CHARACTERS and any(map(str.isdigit, cell))
    return is_short and len(_WORD.findall(cell)) <= _MAX_WORDS_IN_VALUE


def unescape(cell: str, exported: str = "") -> str:
    """Reverse `escape` in a cell that a person may have changed. `exported` is the cell as it was exported.

    An apostrophe that a person typed before a word stays, unless the exported cell had one.
    """
    is_escaped = exported.startswith("'") or escape(cell[1:]) == cell
    return cell[1:] if cell.startswith("'") and is_escaped else cell
