"""python -m analysis testset: generated evaluation data, draft by draft."""

import argparse
from pathlib import Path

from rich.markup import escape

from analysis import table_output as terminal
from analysis.table_output import TableColumn
from analysis.testset.drafts_terminal import show
from analysis.testset.items import ACCEPTED, Item, ShownSet, counts_by_reason, filter_items, read_items
from components.errors import DataError

_STATES = (ACCEPTED, "rejected", "failed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("set", type=Path, help="the folder of a set")
    parser.add_argument(
        "--state",
        choices=_STATES,
        default="",
        help="only these drafts; failed: a request failed, and the next run sends it again",
    )
    parser.add_argument(
        "--reason", default="", metavar="REASON", help="only drafts rejected for this reason, e.g. closed_book"
    )
    parser.add_argument("--gate", default="", metavar="GATE", help="only drafts rejected by this gate")
    parser.add_argument("--topic", default="", metavar="TOPIC", help="only drafts of this topic")
    parser.add_argument("--task", default="", metavar="TASK", help="only drafts of this task")
    parser.add_argument("-n", type=_count, default=10, metavar="N", help="number of drafts (default: %(default)s)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write an HTML page with all selected drafts")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"got {text}, expected a number of drafts, 0 for none")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Show the drafts. Returns 0. Raises DataError if the set cannot be read, or if no draft matches the options."""
    shown_set = read_items(options.set)
    conditions = {name: getattr(options, name) for name in ("state", "reason", "gate", "topic", "task")}
    items = filter_items(shown_set.items, **conditions)
    if not items:
        raise DataError(f"{options.set}: {_explain_no_match(shown_set, conditions)}")
    console = terminal.make_console()
    _show_reasons(shown_set)
    for line in headings(shown_set, items, conditions):
        console.print(escape(line))
    show(console, items[: options.n])
    if len(items) > options.n:
        console.print(f"\n[dim]and {len(items) - options.n:,} more: -n {len(items)}, or --html FILE[/]")
    if options.html:
        from analysis.testset.drafts_page import render

        terminal.write_text(options.html, render(shown_set, items, headings(shown_set, items, conditions)))
        console.print(f"\nHTML page: {escape(str(options.html))}")
    return 0


def headings(shown_set: ShownSet, items: list[Item], conditions: dict[str, str]) -> list[str]:
    """Describe the set and the shown selection."""
    condition_text = ", ".join(f"{name} {value}" for name, value in conditions.items() if value)
    n_accepted = sum(item.state == ACCEPTED for item in shown_set.items)
    testset = shown_set.testset
    models = testset.about.get("models", {})
    made_by = f"written by {models.get('writer')}, checked by {models.get('checker')}"
    return [
        f"{shown_set.folder}: {len(testset.samples):,} samples of {len(testset.documents):,} documents; "
        f"{len(shown_set.items) - n_accepted:,} drafts were not accepted",
        *([made_by] if models else []),
        f"shown: {len(items):,} drafts{f' ({condition_text})' if condition_text else ''}",
    ]


def _show_reasons(shown_set: ShownSet) -> None:
    counts = counts_by_reason(shown_set.items)
    if counts:
        columns = [
            TableColumn("gate", [gate for gate, _ in counts], is_number=False),
            TableColumn("reason", [reason for _, reason in counts], is_number=False),
            TableColumn("drafts", [str(n) for n in counts.values()]),
        ]
        terminal.show_table(terminal.make_console(), "not accepted", columns)


def _explain_no_match(shown_set: ShownSet, conditions: dict[str, str]) -> str:
    """Explain which condition no draft meets, with the existing values."""
    for name, value in conditions.items():
        known = sorted({str(getattr(item, name)) for item in shown_set.items} - {""})
        if value and value not in known:
            return f"no draft has {name} '{value}'. Existing values: {', '.join(known) or 'none'}."
    return "no draft meets all conditions together. Leave out one of them."
