from xml.etree import ElementTree

import pytest

from runner.console.svg import text


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\ud800", "\ufffe"])
def test_svg_replaces_control_and_direction_characters(character: str) -> None:
    shown = ElementTree.fromstring(f"<text>{text(f'a{character}b')}</text>").text
    assert shown in ("a\ufffdb", "a?b")


@pytest.mark.parametrize("plain", ["a\tb\nc", "~", "\u00a0", "中文，标点", "é <&> \"'", "\U0001f600", "\u200b\u2060"])
def test_svg_keeps_ordinary_characters(plain: str) -> None:
    assert ElementTree.fromstring(f"<text>{text(plain)}</text>").text == plain
