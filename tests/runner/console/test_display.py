"""Texts from outside are shown as they are, and nothing interprets them."""

import ast
import errno
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryFile

import pytest
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from runner.console import display
from runner.console.display import (
    SafeConsole,
    detectable_text,
    escape_control,
    make_console,
    print_error,
    say,
    significant_digits,
    table_cell,
)
from tests.runner.sweeping import REPOSITORY

HOSTILE = [
    "[/INST] so", "[/b]", "[type=missing, input_value={}]", "[link=file:///etc/passwd]x[/link]", "[#ff0000]", "a[",
    "[]", "[/]", "\\[/b]", ":smile:", "[/dim", "[red on blue]",
]  # fmt: skip


def render(text: object, **options: object) -> str:
    file = io.StringIO()
    SafeConsole(file=file, width=200).print(text, **options)
    return file.getvalue().rstrip("\n")


@pytest.mark.parametrize("text", HOSTILE)
def test_brackets_in_data_are_shown_as_text(text: str) -> None:
    table = Table(title=text, box=None)
    table.add_column(text)
    table.add_row(text)
    assert render(text) == text.replace("\\[", "[")
    assert render(table).count(text.replace("\\[", "[")) == 3


@pytest.mark.parametrize("text", [*HOSTILE, "[red]", "[bold]x[/]", "[dim]"])
def test_escaped_text_is_shown_in_full(text: str) -> None:
    assert render(f"[dim]{escape(text)}[/]").replace("\\", "") == text.replace("\\", "")


@pytest.mark.parametrize(
    ("value", "n_digits", "expected"),
    [
        (0.0234, 2, "0.023"), (0.2, 2, "0.2"), (4.56, 2, "4.6"), (123.4, 2, "120"), (3210.0, 2, "3,200"),
        (0.0000123, 2, "0.000012"), (-123.4, 2, "-120"), (0.0, 2, "0"), (123_456.0, 4, "123,500"),
    ],
)  # fmt: skip
def test_number_in_a_sentence_is_written_without_exponent(value: float, n_digits: int, expected: str) -> None:
    assert significant_digits(value, n_digits) == expected


def test_console_applies_only_known_styles() -> None:
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, color_system="standard").print("[red]FAILED[/] [bold]a[/b][/] b")
    assert file.getvalue() == "\x1b[31mFAILED\x1b[0m \x1b[1ma[/b]\x1b[0m b\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("a\rb\x08", "a\\rb\\x08"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("half \ud83d", "half \\ud83d"),
        ("\x9b31m", "\\x9b31m"),
        ("两行\n\t字", "两行\n\t字"),
    ],
)
def test_terminal_escapes_control_characters(text: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert escape_control(text) == expected
    assert render(text, soft_wrap=True) == expected.expandtabs(8)
    print_error(text)
    assert capsys.readouterr().err == f"{expected}\n"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("@x", "'@x"), ("-1+1", "'-1+1"), ("\uff1d1", "'\uff1d1"),
        ("\n=1", "'\n=1"), (-1.5, -1.5), (None, None),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"), ("R&D", "R&D"), ("bm25", "bm25"),
    ],
)  # fmt: skip
def test_table_cells_escape_formulas_and_tags(value: object, expected: object) -> None:
    assert table_cell(value) == expected


def test_closed_pipe_does_not_end_the_command() -> None:
    code = (
        "from runner.console.display import make_console\n"
        "console = make_console()\n"
        "for _ in range(50_000): console.print('a line')\n"
        "import sys; sys.stderr.write('to the end')"
    )
    reads, writes = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, stdout=writes, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(reads)
        os.close(writes)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "to the end")


class _Closed(io.StringIO):
    """A terminal that was closed."""

    def write(self, text: str, /) -> int:
        raise OSError(errno.EIO, "Input/output error")


def test_closed_terminal_does_not_end_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    console = SafeConsole(file=_Closed(), force_terminal=True)
    with TemporaryFile("w") as stdout, Progress(console=console) as bars:
        monkeypatch.setattr(sys, "stdout", stdout)
        bars.add_task("x", total=1)
        console.print("a line")
        bars.stop()
    assert console.quiet
    monkeypatch.setattr(sys, "stderr", _Closed())
    print_error("an error")


def test_character_that_the_encoding_lacks_is_escaped() -> None:
    code = "from runner.console.display import make_console; make_console().print('桥 –')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    arguments = [sys.executable, "-c", code]
    done = subprocess.run(arguments, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "\\u6865 \\u2013\n"


def test_commands_print_only_through_the_safe_console() -> None:
    assert isinstance(make_console(), SafeConsole)
    for package in ("runner", "analysis"):
        for file in (REPOSITORY / package).rglob("*.py"):
            if file.name != "display.py":
                text = file.read_text(encoding="utf-8")
                assert "Console(" not in text, f"{file}: makes a {Console.__name__} of its own"
                assert "file=sys.stderr" not in text, f"{file}: errors go through print_error"


def test_estimates_have_two_significant_digits() -> None:
    assert [display.estimate(n) for n in (0, 850, 6_194, 619_458, 6_194_588, 12_345_678_901)] == [
        "0", "850", "6,200", "620,000", "6.2 million", "12 billion",
    ]  # fmt: skip


def test_size_above_1_of_shares_is_written_in_words() -> None:
    assert detectable_text(0.31, [0.2, 0.9]) == "0.31"
    assert detectable_text(1.6, [0.2, 0.9]) == "more than 1"
    assert detectable_text(16.4, [0.2, 90.0]) == "16"


def test_plain_lines_hide_secrets_and_escape_controls(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", "p4Vq9-Zt7Lw2Kx8Rb")
    say("wrote a\x1b[2J/p4Vq9-Zt7Lw2Kx8Rb\nand b: 中")
    assert capsys.readouterr().out == "wrote a\\x1b[2J/***\nand b: 中\n"


OWN_OUTPUT = {
    "runner/console/display.py": "hides secrets",
    "runner/__main__.py": "writes the version and the help, which repeat no text of users",
    "runner/launch/run_command.py": "hides secrets in the text of Hydra",
}
"""Modules that write to standard output themselves, and why they may."""


def _writers(folder: str) -> Iterator[str]:
    for path in (REPOSITORY / folder).rglob("*.py"):
        place = path.relative_to(REPOSITORY).as_posix()
        if place.startswith("analysis/notebooks/"):
            continue  # pages to read
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called == "print":
                yield f"{place}: print"
            if called.startswith("sys.stdout.write") or called == "sys.stdout.buffer.write":
                yield place


def test_modules_write_to_standard_output_only_through_the_mask() -> None:
    assert {place for folder in ("runner", "analysis", "components") for place in _writers(folder)} == {*OWN_OUTPUT}
