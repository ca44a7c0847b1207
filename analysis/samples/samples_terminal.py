"""Samples printed to a terminal or a pipe."""

import re
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from analysis.samples import sample_wording
from analysis.samples.story import Excerpt, Story, StorySide
from runner.console.display import escape_control

_GOLD = "bold yellow"
_SPACE = re.compile(r"\s+")
_INDENT = 12
_N_HITS, _HIT_CHARACTERS = 8, 160

Line = tuple[str, Text]
"""The texts on the left and on the right."""


def show(console: Console, stories: Sequence[Story], names: Sequence[str], metric: str) -> None:
    """Print the stories. `names` are the names of the cells."""
    for number, story in enumerate(stories, 1):
        group = " · ".join(filter(None, (story.subset, story.topic, story.task)))
        head = Text.assemble((f"{number}. {escape_control(story.id)}", "bold"), f"  {escape_control(group)}")
        console.print()
        console.print(head, soft_wrap=True)
        for label, content in _lines(story, names, metric):
            print_line(console, label, content)


def print_line(console: Console, label: str, content: Text) -> None:
    """Print the text after its name. A terminal wraps it, while a pipe gets a single line."""
    wrapped = (
        content.wrap(console, console.width - _INDENT, overflow="fold") if console.is_terminal else content.split("\n")
    )
    for i, line in enumerate(wrapped):
        line.rstrip()
        name = label if i == 0 else ""
        console.print(Text.assemble((name.ljust(_INDENT), "dim"), line), soft_wrap=True)


def _lines(story: Story, names: Sequence[str], metric: str) -> Iterator[Line]:
    for question, answer in story.history:
        yield "earlier", _text(f"{sample_wording.shorten(question, 200)} → {sample_wording.shorten(answer, 200)}")
    yield "question", _text(sample_wording.shorten(story.question))
    if not story.is_answerable:
        yield "reference", _text("(the documents do not answer it)")
    for reference in story.references:
        yield "reference", _text(sample_wording.shorten(reference))
    for name, side in zip(names, story.sides, strict=True):
        if len(names) > 1:
            yield "", Text(escape_control(name), style="bold")
        yield from _side_lines(side, metric)
        for number, search in enumerate(side.searches, start=1):
            yield "" if number > 1 else "searches", _text(sample_wording.search_text(number, search))
        yield from _gold_lines(story, side)
        yield from _prompt_lines(side)
    if story.difference is not None:
        yield "difference", _text(f"{metric} {story.difference:+.4g}")


def _side_lines(side: StorySide, metric: str) -> Iterator[Line]:
    if side.first_answer is not None:
        yield "first", _text(sample_wording.first_answer_text(side))
        yield "check", _text(sample_wording.check_text(side))
    yield "answer", _text(sample_wording.answer_text(side))
    yield "score", _text(sample_wording.score_text(side, metric))
    yield "verdict", _text(sample_wording.verdict_line(side))


def _gold_lines(story: Story, side: StorySide) -> Iterator[Line]:
    shown_units = list(zip(story.gold, side.found, strict=True))[: sample_wording.N_UNITS]
    for unit, coverage in shown_units:
        yield "gold", _text(f"{sample_wording.gold_head(unit)}: {sample_wording.found_text(unit, coverage)}")
        if side is story.sides[0] and unit.excerpt != Excerpt():
            yield "", mark_gold(unit.excerpt)
    if len(story.gold) > len(shown_units):
        yield "", _text(f"and {len(story.gold) - len(shown_units)} more")


def _prompt_lines(side: StorySide) -> Iterator[Line]:
    for i, hit in enumerate(side.prompt[:_N_HITS]):
        text = " ".join(sample_wording.shorten(hit.text, _HIT_CHARACTERS).split())
        yield "" if i else "prompt", _text(f"{sample_wording.hit_head(hit)}{': ' if text else ''}{text}")
    if len(side.prompt) > _N_HITS:
        yield "", _text(f"and {len(side.prompt) - _N_HITS} more")


def mark_gold(excerpt: Excerpt) -> Text:
    """Return the gold between « and », which a pipe shows too."""
    left_out = f" … ({excerpt.n_left_out:,} more characters) … " if excerpt.n_left_out else ""
    parts = (excerpt.before, f"«{excerpt.gold}{left_out}{excerpt.rest}»", excerpt.behind)
    before, gold, behind = (_SPACE.sub(" ", escape_control(part)) for part in parts)
    return Text.assemble(before.lstrip(), (gold, _GOLD), behind.rstrip())


def _text(text: str) -> Text:
    return Text(escape_control(text))
