"""Artifacts in texts of files that no author wrote."""

import pytest

from components.text.cleaning import join_broken_words, strip_invisible_characters, tidy_white_space


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x00b\x1b[31mc\x7f", "ab[31mc"),
        ("one\r\ntwo\rthree\u2028four\x85five", "one\ntwo\nthree\nfour\nfive"),
        ("soft\u00adhy\u200bphen\ufeff", "softhyphen"),
        ("\u202efdp.exe\u202c \u2067x\u2069", "fdp.exe x"),
        ("hidden\U000e0069\U000e0067", "hidden"),
        ("👩\u200d🔬 and نمی\u200cخواهم", "👩\u200d🔬 and نمی\u200cخواهم"),
        ("half\ud83d", "half\ufffd"),
        ("page\n\f\npage\tcell", "page\n\f\npage\tcell"),
        ("<script>1</script>", "<script>1</script>"),
    ],
)
def test_unseen_characters_are_removed(text: str, cleaned: str) -> None:
    assert strip_invisible_characters(text) == cleaned
    assert strip_invisible_characters(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\n\n a  b \t c \n", " a b c"),
        ("\u3000\u3000段落。\u3000下一\u00a0句", "段落。 下一 句"),
        ("a\n\n\n\n\nb\n \n \nc", "a\n\nb\n\nc"),
        ("- list\n    - deeper\n\tcode", "- list\n    - deeper\n\tcode"),
        ("one\n\n\f\n\n\ntwo\n\f\n", "one\n\f\ntwo"),
        (" \n\t ", ""),
    ],
)
def test_white_space_is_normalized(text: str, cleaned: str) -> None:
    assert tidy_white_space(text) == cleaned
    assert tidy_white_space(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a docu-\nment of pages", "a document of pages"),
        ("a well-\nknown thing, well-known", "a well-known thing, well-known"),
        ("from 1990-\n1995", "from 1990-\n1995"),
        ("Baden-\nBaden", "Baden-\nBaden"),
        ("- a\n- b", "- a\n- b"),
        ("in-\ndepen-\ndent", "independent"),
        ("Stra-\n  ßenbahn", "Straßenbahn"),
    ],
)
def test_words_broken_at_line_ends_are_joined(text: str, cleaned: str) -> None:
    assert join_broken_words(text) == cleaned
    assert join_broken_words(cleaned) == cleaned


@pytest.mark.parametrize("clean", [strip_invisible_characters, tidy_white_space, join_broken_words])
@pytest.mark.parametrize("unit", ["a-\n", " \n", "ab", "\f\n", "-\n ", "x" * 50 + "-\n"])
def test_cleaning_of_long_texts_takes_linear_time(clean, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert len(clean(unit * 20_000)) <= 20_000 * len(unit)
