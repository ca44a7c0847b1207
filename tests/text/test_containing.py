import pytest

from components.text.containing import contains, form_to_search


@pytest.mark.parametrize(
    ("text", "wording", "expected"),
    [
        ("It was opened in 1932.", "In 1932", True),
        ("会议共有12人参加", "12", True),
        ("杭州是浙江的省会。", "省会", True),
        ("2022 年 2月4日开幕", "2022年2月4日", True),
        ("增长率为 3.5 %", "3.5%", True),
        ("We visited New\n York.", "new york", True),
        ("a part of it", "art", False),
        ("its bridges", "bridge", False),
        ("in 1932 it was", "932", False),
        ("112", "12", False),
        ("12.5", "12", False),
        ("12.5", "5", False),
        ("-3", "3", False),
        ("anything", "。", False),
        ("", "x", False),
    ],
)
def test_contains_compares_whole_words_after_normalization(text: str, wording: str, expected: bool) -> None:
    assert contains(form_to_search(text), form_to_search(wording)) == expected
