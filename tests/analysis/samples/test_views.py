"""Samples on a terminal and on a page: any content is shown as text, and fits."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from analysis.samples.samples_page import render
from analysis.samples.samples_terminal import show
from analysis.samples.story import Excerpt, FoundUnit, GoldText, ShownHit, ShownSearch, Story, StorySide
from components.forensics.failures import Failure
from components.forensics.outcomes import Outcome
from components.forensics.stages import EvidenceStage
from components.forensics.verdicts import Verdict

HOSTILE = "<script>alert(1)</script> [bold]\"'\x1b[31m\x07\u202eevil {{ 7*7 }} &amp; 好"
VERDICT = Verdict(EvidenceStage.RANKED_LOW, Outcome.WRONG, Failure.RANKED_LOW, 12, ("paraphrase",))
UNIT = GoldText(HOSTILE, HOSTILE, 3, 9, 2, 6, Excerpt(HOSTILE, HOSTILE, 1_000, HOSTILE, HOSTILE))
SIDE = StorySide(
    "a cell",
    0.25,
    "value",
    HOSTILE,
    "ok",
    "",
    VERDICT,
    [FoundUnit([(12, 1.0)], 0.0)],
    [ShownHit(1, HOSTILE, HOSTILE, False, [("dense", 3)], HOSTILE)],
    [ShownSearch(HOSTILE, HOSTILE, [0])],
    HOSTILE,
    HOSTILE,
)
STORY = Story(HOSTILE, HOSTILE, HOSTILE, None, HOSTILE, [(HOSTILE, HOSTILE)], [HOSTILE], True, [UNIT], [SIDE])


def print_in_terminal(*stories: Story, width: int = 100, is_terminal: bool = True) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=is_terminal, color_system=None, emoji=False)
    show(console, stories, ["one", "two"][: len(stories[0].sides)], "rouge_l")
    return out.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_sample_text_sends_no_control_characters_to_the_terminal(is_terminal: bool) -> None:
    text = print_in_terminal(STORY, is_terminal=is_terminal)
    assert "\x1b[31m" not in text
    assert not {"\x07", "\u202e"} & set(text)
    assert "<script>alert(1)</script> [bold]\"'\\x1b[31m\\x07\\u202eevil {{ 7*7 }} &amp; 好" in text.replace("\n", "")


def test_sample_text_is_escaped_on_a_page() -> None:
    page = render([STORY], [HOSTILE], "rouge_l", [HOSTILE])
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "{{ 7*7 }} &amp;amp; 好" in page


def test_sample_view_marks_alternative_gold() -> None:
    either = [replace(UNIT, document_id=name, title="", one_of=1) for name in "ab"]
    text = print_in_terminal(replace(STORY, gold=[*either, replace(UNIT, document_id="c", title="")], sides=[
        replace(SIDE, found=SIDE.found * 3)]))  # fmt: skip
    assert text.count("grade 2, alternative of set 1:") == 2
    assert text.count("grade 2:") == 1


def test_sample_view_cuts_long_texts_and_fits_the_terminal() -> None:
    long = replace(STORY, question="好" * 100_000, sides=[replace(SIDE, answer="word " * 20_000)])
    text = print_in_terminal(long)
    assert text.count("98,8") == 2
    assert max(sum(2 if own > "\u2e80" else 1 for own in line) for line in text.splitlines()[3:]) <= 100
    assert len(render([long], ["one"], "rouge_l", [""])) < 20_000


def test_sample_view_has_one_line_per_fact_in_a_pipe() -> None:
    text = print_in_terminal(replace(STORY, question="one\ntwo " + "word " * 100), is_terminal=False)
    lines = text.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("question"))
    assert lines[first].split() == ["question", "one"]
    assert lines[first + 1].split()[:2] == ["two", "word"]
    assert len(lines[first + 1]) > 400
    assert not [line for line in lines if line != line.rstrip()]


def test_sample_view_shows_the_difference_of_two_answers() -> None:
    both = replace(STORY, sides=[SIDE, replace(SIDE, score=0.75, state="error", error="timeout", answer="")])
    text = print_in_terminal(both)
    assert "difference  rouge_l -0.5" in text
    assert "(error: timeout)" in text
    assert "rouge_l -0.5" in render([both], ["one", "two"], "rouge_l", [""])
    assert both.as_record()["difference"] == -0.5


def test_sample_view_shows_the_state_of_a_missing_answer() -> None:
    text = print_in_terminal(
        replace(STORY, is_answerable=False, sides=[replace(SIDE, answer="", state="empty", score=None)])
    )
    assert "answer      (empty)" in text
    assert "score       rouge_l value" in text
    assert "(the documents do not answer it)" in text


def test_sample_view_shows_missing_gold_and_judgements_as_unknown() -> None:
    verdict = Verdict(EvidenceStage.NO_GOLD, Outcome.NOT_JUDGED, Failure.NONE, None, ())
    shown = print_in_terminal(replace(STORY, sides=[replace(SIDE, verdict=verdict)]))
    assert "unknown: the question has no gold, and no answer was judged" in shown
    assert "nothing failed" not in shown


@pytest.mark.parametrize(
    ("first", "check", "expected"),
    [
        ("It was 1066.", "not supported: 1066", ["first       It was 1066.", "check       not supported: 1066"]),
        ("", "", ["first       (empty)", "check       (not checked)"]),
        (None, "", []),
    ],
)
def test_sample_view_shows_the_first_answer_and_its_check(first: str | None, check: str, expected: list[str]) -> None:
    story = replace(STORY, sides=[replace(SIDE, first_answer=first, check=check)])
    lines = print_in_terminal(story, is_terminal=False).splitlines()
    assert [line for line in lines if line.startswith(("first", "check"))] == expected
    page = render([story], ["one"], "rouge_l", "samples")
    assert ("first answer" in page) == (first is not None)
