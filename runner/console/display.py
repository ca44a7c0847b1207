"""Prints the output of commands safely.

Text from data, models, servers and paths is displayed and never interpreted. Markup in an answer breaks no report, and
no escape sequence in a question reaches the terminal. Secrets are hidden.
"""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.text import Text

from components.secrets.mask import mask_text, shorten_masked, without_secrets

_NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and line break
    "\u202a-\u202e\u2066-\u2069"  # marks that reverse the direction of writing, and so the apparent meaning of a line
    "\ud800-\udfff]"  # lone surrogates, which UTF-8 cannot encode
)
FORMULA_STARTS = (*"=+-@＝＋－＠", "\t", "\r", "\n")
"""Starts of strings that a spreadsheet takes for formulas. Excel in Chinese or Japanese reads full-width signs, too."""
_TOKEN = re.compile(r"\\(\[[a-z#/@][^\[]*?\])|\[(/|bold|dim|italic|red|yellow)\]")
"""A tag escaped by rich.markup.escape, or a tag that our own messages use."""


def escape_control(text: str) -> str:
    """Replace characters that a terminal would interpret by Python's escapes."""
    return _NOT_SHOWN.sub(lambda match: ascii(match[0])[1:-1], text)


def table_cell(value: object) -> object:
    """Return a value for a table in another program. Spreadsheets see no formula in it, and pages no tag."""
    if not isinstance(value, str):
        return value
    return escape_formula(value.replace("<", "&lt;").replace(">", "&gt;"))


def escape_formula(value: object) -> object:
    """Return a value for a CSV file. A string is printable, and begins with an apostrophe if it looks like a formula.

    Carriage returns are escaped: Python's writer does not quote them, and its reader takes them for new rows.
    """
    if not isinstance(value, str):
        return value
    text = escape_control(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def one_line(text: str, n_characters: int = 200) -> str:
    """Join the lines of a string and shorten it. Replies of models have any number of line breaks."""
    return shorten_masked(" ".join(text.split()), n_characters)


def significant_digits(value: float, n_digits: int = 2) -> str:
    """Format a number to `n_digits` significant digits without an exponent: "0.023", "4.6", "3,200"."""
    return format(Decimal(f"{value:.{n_digits}g}"), ",f")


def detectable_text(size: float, means: Sequence[float]) -> str:
    """Format a detectable difference of means. Most metrics are in [0, 1], where a size above 1 says only that no
    difference is detectable, so it has no digits.
    """
    return "more than 1" if size > 1 and all(0 <= mean <= 1 for mean in means) else significant_digits(size)


def estimate(n: int) -> str:
    """Format an estimated count to two significant digits: "850", "6,200", "620,000", "6.2 million"."""
    for word, unit in (("billion", 10**9), ("million", 10**6)):
        if n >= unit * 0.995:
            return f"{significant_digits(n / unit)} {word}"
    return significant_digits(n)


def print_error(error: object) -> None:
    """Write a message to standard error, without secrets."""
    with suppress(OSError):  # the terminal was closed
        sys.stderr.write(f"{escape_control(mask_text(str(error)))}\n")


def say(text: str) -> None:
    """Write a text and a line break to standard output, without secrets of the environment."""
    _escape_unencodable()
    sys.stdout.write(f"{escape_control(without_secrets(text))}\n")


def _escape_unencodable() -> None:
    """Let standard output escape characters that its encoding lacks, instead of raising an error."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def make_console() -> Console:
    """Return a console for standard output. In a pipe or a file, lines may be as long as a table needs."""
    _escape_unencodable()
    console = SafeConsole()
    return console if console.is_terminal else SafeConsole(width=400, soft_wrap=True)


class SafeConsole(Console):
    """Rich's console with only a few styles of its markup: [bold], [dim], [italic], [red], [yellow] and [/].

    Everything else in brackets is plain text, so that data without these tags needs no escaping. If the reader of the
    output goes away (a pipe to `head`, a closed terminal), the console falls silent and the command continues, because
    results are in files.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    def render_str(self, text: str, *, style: str | Style = "", markup: bool | None = None, **options: Any) -> Text:
        is_marked = markup if markup is not None else self._markup
        safe = escape_control(without_secrets(text))
        parsed = _apply_markup(safe) if is_marked else Text(safe)
        rendered = super().render_str("", style=style, markup=False, **options)
        return rendered.append_text(parsed)

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:  # the terminal was closed
            self._buffer.clear()
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # a broken output would make Python's exit fail


def _apply_markup(text: str) -> Text:
    styled = Text()
    styles: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text):
        escaped, tag = token.groups()
        styled.append(text[end : token.start()], " ".join(styles))
        end = token.end()
        if escaped:
            styled.append(escaped, " ".join(styles))
        elif tag != "/":
            styles.append(tag)
        elif styles:
            styles.pop()
        else:
            styled.append(token[0])
    return styled.append(text[end:], " ".join(styles))
