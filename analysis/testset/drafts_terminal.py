"""Drafts printed to a terminal or a pipe."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from analysis.samples.sample_wording import N_UNITS, shorten
from analysis.samples.samples_terminal import Line, mark_gold, print_line
from analysis.samples.story import Excerpt
from analysis.testset.items import ACCEPTED, DraftPassage, Item
from runner.console.display import escape_control

_STYLES = {ACCEPTED: "green", "rejected": "red"}


def show(console: Console, items: Sequence[Item]) -> None:
    """Print the drafts with their passages."""
    for number, item in enumerate(items, 1):
        group = " · ".join(filter(None, (item.topic, item.task)))
        head = Text.assemble(
            (f"{number}. {escape_control(item.id)}", "bold"),
            f"  {escape_control(group)}  ",
            (item.state, _STYLES.get(item.state, "")),
        )
        console.print()
        console.print(head, soft_wrap=True)
        for label, content in _lines(item):
            print_line(console, label, content)


def _lines(item: Item) -> Iterator[Line]:
    for question, answer in item.history:
        yield "earlier", _text(f"{shorten(question, 200)} → {shorten(answer, 200)}")
    if item.question:
        yield "question", _text(shorten(item.question))
    for reference in item.references:
        yield "reference", _text(shorten(reference))
    for passage in item.passages[:N_UNITS]:
        yield "passage", _text(format_head(passage))
        if passage.excerpt != Excerpt():
            yield "", mark_gold(passage.excerpt)
    if len(item.passages) > N_UNITS:
        yield "", _text(f"and {len(item.passages) - N_UNITS} more")
    for i, remark in enumerate(item.remarks):
        yield "" if i else ("remarks" if item.state == ACCEPTED else "why not"), _text(shorten(remark))


def format_head(passage: DraftPassage) -> str:
    """Return the id and the title of the document."""
    title = f" ({shorten(passage.title, 80)})" if passage.title else ""
    return f"{shorten(passage.document_id, 100)}{title}"


def _text(text: str) -> Text:
    return Text(escape_control(text))
