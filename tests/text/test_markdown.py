import pytest

from components.text.markdown import blocks, may_have_headings, tables


@pytest.mark.parametrize(
    ("text", "has_headings"),
    [
        ("# One", True),
        ("text\r\n   ###### Six\r\n", True),
        ("#\ntext", True),
        ("Under\n=====", True),
        ("Under\r---  \rtext", True),
        ("#hashtag and 1 - 2 = -1", False),
        ("####### seven", False),
        ("    # code", False),
        ("第一段。\n第二段——完。", False),
    ],
)
def test_headings_are_reported_without_parsing(text: str, has_headings: bool) -> None:
    assert may_have_headings(text) == has_headings
    assert any(block.level for block in blocks(text)) == has_headings


def test_markdown_blocks_have_positions_levels_and_titles() -> None:
    text = "One\ntwo.\r\n\r\n## Heading ##\r\n\f\r\n- a\n- b\n\n| x |\n|---|\n| 1 |"
    found = [(text[block.start : block.end].strip(), block.level, block.title) for block in blocks(text)]
    assert found == [
        ("One\ntwo.", 0, ""), ("## Heading ##", 2, "Heading"), ("- a\n- b", 0, ""), ("| x |\n|---|\n| 1 |", 0, ""),
    ]  # fmt: skip
    assert [text[start:end] for start, end in tables(text)] == ["| x |\n|---|\n| 1 |"]


def test_tables_in_lists_are_found_and_bare_pipes_are_not_tables() -> None:
    text = "- item\n\n  | x |\n  |---|\n  | 1 |\n\na | b"
    assert [text[start:end].split() for start, end in tables(text)] == ["| x | |---| | 1 |".split()]
    assert list(tables("a | b\nc | d")) == []
