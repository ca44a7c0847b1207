import pytest

from components.judges.unknown_answers import Phrases

PHRASES = Phrases(("无法推断", "文中未提及"))
ENGLISH = Phrases(("cannot be inferred", "not mentioned"))


@pytest.mark.parametrize("answer", ["无法推断", "无法推断。", " 无法推断\n", "“无法推断”", "文中未提及！"])
def test_unknown_phrases_are_matched_after_normalization(answer: str) -> None:
    assert PHRASES.is_unknown_answer(answer)


def test_unknown_phrases_ignore_case_and_width() -> None:
    assert Phrases(("cannot infer",)).is_unknown_answer("Ｃannot INFER.")


@pytest.mark.parametrize("answer", ["", "无法", "推断", "原因无法推断", "无法推断的事"])
def test_answers_that_contain_an_unknown_phrase_are_answers(answer: str) -> None:
    assert not PHRASES.is_unknown_answer(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "根据文本无法推断",
        "根据给出的文字，无法推断。",
        "无法根据文本推断",
        "无法从文中推断",
        "无法推断出答案",
        "无法推断具体时间",
        "文本中未提及",
    ],
)
def test_filler_words_around_an_unknown_phrase_mean_unknown(answer: str) -> None:
    assert PHRASES.is_unknown_answer(answer)


@pytest.mark.parametrize("answer", ["文本", "根据文本是杭州", "信息未提及的人", "具体时间", "答案"])
def test_parts_of_unknown_phrases_do_not_mean_unknown(answer: str) -> None:
    assert not PHRASES.is_unknown_answer(answer)


@pytest.mark.parametrize(
    ("answer", "unknown"),
    [
        ("It cannot be inferred from the text.", True),
        ("Based on the text, it cannot be inferred", True),
        ("Not mentioned in the passage.", True),
        ("The text", False),
        ("a person not mentioned", False),
    ],
)
def test_unknown_answers_are_recognized_in_english(answer: str, unknown: bool) -> None:
    assert ENGLISH.is_unknown_answer(answer) == unknown
