"""Spans in code points and in UTF-16 units."""

import pytest

from runner.testset.annotating.marks import find_ranges
from tests.runner.testset.small import TEXTS

TOWER = TEXTS["tower"]


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize(
    "quote", ["建于1889年。", "\U0001f5fc", "\U0001f5fc 建于", "<script>alert(1)</script>", "。\n由埃菲尔"]
)
def test_mark_takes_the_offset_reading_that_equals_the_text(quote: str) -> None:
    start = TOWER.index(quote)
    place = (start, start + len(quote))
    before = units(TOWER[:start])
    assert find_ranges(TOWER, *place, quote)[0] == place
    assert find_ranges(TOWER, before, before + units(quote), quote)[-1] == place
    recorded = quote.replace("\n", "\\n")
    assert place in find_ranges(TOWER, before, before + units(quote), recorded)


def test_ambiguous_emoji_offset_gives_both_readings() -> None:
    assert find_ranges("\U0001f600 aaaa", 3, 5, "aa") == [(3, 5), (2, 4)]


def test_marks_match_line_breaks_as_a_browser_shows_them() -> None:
    assert find_ranges("a\r\nb", 0, 4, "a\n\nb") == [(0, 4)]


@pytest.mark.parametrize(
    ("start", "end", "text"), [(0, 3, "xyz"), (-1, 2, "a"), (2, 2, ""), (0, 10_000, "a"), (37, 36, "a")]
)
def test_mark_of_another_document_has_no_place(start: int, end: int, text: str) -> None:
    assert find_ranges(TOWER, start, end, text) == []


def test_offset_within_a_character_has_no_place() -> None:
    text = "ab\U0001f600"
    assert find_ranges(text, 3, 4, None) == []
    assert find_ranges(text, 2, 4, None) == [(2, 3)]


def test_mark_without_a_text_keeps_every_reading() -> None:
    assert find_ranges("plain", 0, 2, None) == [(0, 2)]
    assert len(find_ranges(TOWER, 38, 43, None)) == 2
