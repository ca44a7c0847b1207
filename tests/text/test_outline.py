from components.text.outline import Outline


def test_outline_gives_the_headings_of_every_section() -> None:
    text = "Intro.\n\n# One\nText.\n\nTwo\n---\nMore.\n\n### Three\n\n# Four\nLast."
    sections = Outline(text).sections
    assert [(text[section.start : section.end].split("\n")[0], section.headings) for section in sections] == [
        ("Intro.", ()), ("# One", ("One",)), ("Two", ("One", "Two")), ("### Three", ("One", "Two", "Three")),
        ("# Four", ("Four",)),
    ]  # fmt: skip
    assert "".join(text[section.start : section.end] for section in sections) == text


def test_sections_count_pages_and_carry_headings_across_them() -> None:
    outline = Outline("# One\n\nfirst\n\f\nsecond\n\n# Two\n\f\nthird")
    assert [(section.page, section.headings) for section in outline.sections] == [
        (1, ("One",)), (2, ("One",)), (2, ("Two",)), (3, ("Two",)),
    ]  # fmt: skip


def test_outline_gives_the_headings_at_a_character() -> None:
    outline = Outline("ab\n# C\nd")
    assert [outline.find_headings(place) for place in (0, 2, 3, 8)] == [(), (), ("C",), ("C",)]


def test_text_without_headings_is_one_section() -> None:
    assert Outline("").find_headings(0) == ()
    assert Outline("text").sections == [(0, 4, (), 0)]
