import pytest

from components.text.containing import contains
from components.text.normalized_facts import fact_form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("US$5", True),
        ("US$ 5", True),
        ("It cost $5.", True),
        ("HK$5", True),
        ("USD5", True),
        ("USD 5", True),
        ("5 USD", True),
        ("€5", True),
        ("5%", True),
        ("5 percent", True),
        ("5 km", True),
        ("5元", True),
        ("5/6", True),
        ("\uff15", True),
        ("US$50", False),
        ("US$5.5", False),
        ("US$5,000", False),
        ("-US$5", False),
        ("15", False),
        ("5.5", False),
        ("5,000", False),
        ("-5", False),
        ("5th", False),
        ("5km", False),
        ("5m", False),
        ("B5", False),
        ("GPT-5", False),
        ("plus5", False),
    ],
)
def test_number_five_is_found_only_as_a_whole_number(text: str, expected: bool) -> None:
    assert contains(fact_form(text), fact_form("5")) is expected


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("US$5", "$5", True),
        ("$5", "US$5", True),
        ("US$5", "5 dollars", True),
        ("US$5.5 million", "about $5.5 million", True),
        ("US$5", "US$50", False),
        ("-US$0.35", "-$0.35", True),
        ("-US$0.35", "US$0.35", False),
    ],
)
def test_amounts_of_money_are_compared_by_value(gold: str, answer: str, expected: bool) -> None:
    assert contains(fact_form(answer), fact_form(gold)) is expected


@pytest.mark.parametrize(
    "date",
    [
        "October 19 2021",
        "October 19th, 2021",
        "Oct 19, 2021",
        "19 October 2021",
        "the 19th of Oct., 2021",
        "OCTOBER 19TH 2021",
    ],
)
def test_dates_have_one_fact_form(date: str) -> None:
    assert contains(fact_form(date), fact_form("October 19, 2021"))
    assert not contains(fact_form(date), fact_form("October 1, 2021"))


@pytest.mark.parametrize(
    "text", ["the 19th century", "may 2021", "the 3rd marchers", "19 octobers", "decimal 3", "第5月"]
)
def test_words_other_than_numbers_are_unchanged(text: str) -> None:
    assert fact_form(text) == text
