from xml.etree import ElementTree

import pytest

from runner.console.svg import text


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\ud800", "\ufffe"])
def test_a_character_that_changes_what_a_viewer_shows_is_replaced(character: str) -> None:
    shown = ElementTree.fromstring(f"<text>{text(f'a{character}b')}</text>").text
    assert shown in ("a\ufffdb", "a?b")


@pytest.mark.parametrize("plain", ["a\tb\nc", "~", "\u00a0", "中文，标点", "é <&> \"'", "\U0001f600", "\u200b\u2060"])
def test_ordinary_characters_are_unchanged_in_svg(plain: str) -> None:
    assert ElementTree.fromstring(f"<text>{text(plain)}</text>").text == plain
