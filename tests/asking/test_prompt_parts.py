"""Parts of prompts."""

from components.asking.prompt_parts import questions_by_line


def test_multi_line_question_is_joined_into_one_line() -> None:
    assert questions_by_line(["Who won?", "And\n in 1932?\n"]) == "Who won?\nAnd in 1932?"
    assert questions_by_line([]) == ""
