"""Lines that pages or documents have in common at their edges."""

from components.text.shared_lines import strip_running_heads, strip_shared_edges


def pages(*bodies: str) -> str:
    return "\n\f\n".join(
        f"ACME Annual Report\n{body}\nPage {number} of {len(bodies)}" for number, body in enumerate(bodies, 7)
    )


def test_running_heads_and_page_numbers_are_removed() -> None:
    cleaned = strip_running_heads(pages("First body.", "Second\nbody.", "Third body."))
    assert [page.strip("\n") for page in cleaned.split("\f")] == ["First body.", "Second\nbody.", "Third body."]


def test_numbers_that_do_not_grow_with_the_page_remain() -> None:
    text = "\f".join(f"Body {name}\nTotal {total}" for name, total in zip("abcd", (1200, 31, 31, 7), strict=True))
    assert strip_running_heads(text) == text


def test_running_head_needs_three_pages_and_a_third_of_all_pages() -> None:
    two = pages("One.", "Two.")
    assert strip_running_heads(two) == two
    many = "\f".join(f"{'Seldom' if number < 4 else f'Head {chr(97 + number)}'}\nBody." for number in range(13))
    assert "Seldom" in strip_running_heads(many)


def test_repeated_lines_within_a_page_remain() -> None:
    body = "x\ny\nz\nACME Annual Report\nz\ny\nx"
    text = pages(*(f"{chr(97 + number)}\n{body}\n{chr(97 + number)}" for number in range(3)))
    assert strip_running_heads(text).count("ACME Annual Report") == 3


def test_edges_shared_by_documents_are_removed() -> None:
    texts = [f"Home | About\n\nGuide to {name}\n\nText on {name}.\n\n© 2024 ACME\n" for name in "abcdef"]
    texts += ["Another page."]
    assert [text.strip("\n") for text in strip_shared_edges(texts)] == [
        *(f"Guide to {name}\n\nText on {name}." for name in "abcdef"),
        "Another page.",
    ]


def test_edges_of_few_documents_and_inner_lines_remain() -> None:
    few = ["Menu\nText."] * 4
    assert strip_shared_edges(few) == few
    inside = [f"{name}\nShared\n{name}" for name in "abcdef"]
    assert strip_shared_edges(inside) == inside


def test_equal_documents_do_not_become_empty() -> None:
    assert strip_shared_edges(["Same.\nText."] * 6) == ["Same.\nText."] * 6


def test_long_line_of_numbers_is_cleaned_quickly() -> None:
    text = "\f".join(["1 " * 50_000] * 4)
    assert strip_running_heads(text) == text
