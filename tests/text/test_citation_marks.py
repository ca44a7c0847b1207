import time

import pytest

from components.text.citation_marks import statements, strip_citations


def cited(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(strip_citations(statement.text).strip(), statement.cited) for statement in statements(answer)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("It was opened in 1932 [1]. It is red [2][3].", [("It was opened in 1932.", (1,)), ("It is red.", (2, 3))]),
        ("It was opened in 1932. [1] It is red.[2, 3]", [("It was opened in 1932.", (1,)), ("It is red.", (2, 3))]),
        ("[1] It was opened. [2] It is red.", [("It was opened.", (1,)), ("It is red.", (2,))]),
        ("桥于1932年通车【1】。桥是红色的。[2]", [("桥于1932年通车。", (1,)), ("桥是红色的。", (2,))]),
        ("桥是红色的［1，3］", [("桥是红色的", (1, 3))]),
        ("Red [2-4].", [("Red.", (2, 3, 4))]),
        ("Red [2], truly red [2].", [("Red, truly red.", (2,))]),
        ("It costs 5 [12].\n- It is red\n\n[3]", [("It costs 5.", (12,)), ("- It is red", (3,))]),
        ("No number [n], no year [1932], no mark (1).", [("No number [n], no year [1932], no mark (1).", ())]),
        ("", []),
        ("[1]", []),
        (" \n ", []),
    ],
)
def test_statements_are_paired_with_their_citations(answer: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert cited(answer) == expected


def test_only_citation_marks_and_preceding_blanks_are_removed() -> None:
    assert (
        strip_citations("It was [1] opened in 1932 [2][3]. Red [4]\n[5] and [x]")
        == "It was opened in 1932. Red\n and [x]"
    )


@pytest.mark.parametrize("repeated", ["." * 50_000, " " * 50_000, ("[1" + " " * 5_000) * 10])
def test_repetitive_reply_is_read_in_linear_time(repeated: str) -> None:
    """Models that end in a loop write such replies. A search that restarts at every character would take minutes."""
    started = time.process_time()
    assert statements(f"Red{repeated}blue [2]")[-1].cited == (2,)
    assert strip_citations(f"Red{repeated}blue [2]") == f"Red{repeated}blue"
    assert time.process_time() - started < 1
