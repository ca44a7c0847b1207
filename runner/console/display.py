"""How the commands print. What comes from data, models, servers and paths is shown, and never obeyed: no markup in an
answer makes a report fail, and no escape sequence in a question reaches the terminal. Secrets are hidden.
"""

import os
import re
import sys
from contextlib import suppress
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.text import Text

from components.secrets.mask import masked, shortened, without_secrets

_NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line break
    "\u202a-\u202e\u2066-\u2069"  # what turns the direction of writing round, and with it what a line seems to say
    "\ud800-\udfff]"  # halves of characters, which no file can hold
)
FORMULA_STARTS = (*"=+-@＝＋－＠", "\t", "\r", "\n")
"""Starts of texts that a spreadsheet takes for formulas. Excel in Chinese or Japanese reads full-width signs, too."""
_TOKEN = re.compile(r"\\(\[[a-z#/@][^\[]*?\])|\[(/|bold|dim|italic|red|yellow)\]")
"""A tag that was escaped by rich.markup.escape, or one that our own texts use."""


def printable(text: str) -> str:
    """The text with what a terminal would obey written as Python writes it, as a backslash and a number."""
    return _NOT_SHOWN.sub(lambda found: ascii(found[0])[1:-1], text)


def table_cell(value: object) -> object:
    """A value for a table that others open: a text that no spreadsheet takes for a formula and no page for a tag."""
    if not isinstance(value, str):
        return value
    return no_formula(value.replace("<", "&lt;").replace(">", "&gt;"))


def no_formula(value: object) -> object:
    """A value for a CSV file: a printable text, which begins with an apostrophe if a spreadsheet would take it for a
    formula. Python's writer quotes no carriage return that is not its own, and its reader takes one for a new row.
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def one_line(text: str, n_characters: int = 200) -> str:
    """A text of several lines as one, cut short: replies of models hold line breaks in any number."""
    return shortened(" ".join(text.split()), n_characters)


def about(value: float, n_digits: int = 2) -> str:
    """A number to so many digits, without a power of ten: "0.023", "4.6", "3,200"."""
    return format(Decimal(f"{value:.{n_digits}g}"), ",f")


def estimate(n: int) -> str:
    """A count that is only estimated, to two digits: "850", "6,200", "620,000", "6.2 million"."""
    for word, unit in (("billion", 10**9), ("million", 10**6)):
        if n >= unit * 0.995:
            return f"{about(n / unit)} {word}"
    return about(n)


def say_error(error: object) -> None:
    """A message on standard error, without secrets."""
    with suppress(OSError):  # of a terminal that was closed: nobody is left to read it
        sys.stderr.write(f"{printable(masked(str(error)))}\n")


def make_console() -> Console:
    """Standard output; in a pipe or a file, lines may be as long as a table needs."""
    if hasattr(sys.stdout, "reconfigure"):  # what the terminal's encoding lacks is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")
    console = SafeConsole()
    return console if console.is_terminal else SafeConsole(width=400, soft_wrap=True)


class SafeConsole(Console):
    """Rich's console, which knows of its markup a few styles alone: [bold], [dim], [italic], [red], [yellow] and [/].
    All else in brackets is text, so that data without them needs no escaping. A reader that went away (a pipe to
    `head`, a terminal that was closed) silences it and ends nothing: results are in files.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    def render_str(self, text: str, *, style: Any = "", markup: bool | None = None, **options: Any) -> Text:
        is_marked = markup if markup is not None else self._markup
        shown = printable(without_secrets(text))
        parsed = _styled(shown) if is_marked else Text(shown)
        rendered = super().render_str("", style=style, markup=False, **options)
        return rendered.append_text(parsed)

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:  # of a terminal that was closed
            self._buffer.clear()
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails as it ends


def _styled(text: str) -> Text:
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
