import pytest

from components.text.normalize import answer_form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("增长率为-3.5%", "增长率为-3.5"),
        ("增长率-3.5%", "增长率-3.5"),
        ("同比－5％", "同比-5"),
        ("气温降到-10度", "气温降到-10度"),
        ("利润-$5", "利润-5"),
        ("净利润−1,200万元", "净利润-1200万元"),
        ("介于-5和-3之间", "介于-5和-3之间"),
        ("성장률은 -3.5%", "성장률은 -3.5"),
        ("-$0.35", "-0.35"),
        ("$-0.35", "-0.35"),
        ("-US$ 0.35", "us -0.35"),
        ("EPS of –0.35", "eps of -0.35"),
        ("1e-5", "1e-5"),
        ("2.5E−10", "2.5e-10"),
        (".5 and -.5", "0.5 and -0.5"),
        ("5 - -3", "5 -3"),
        ("5--3", "5 -3"),
    ],
)
def test_numbers_keep_their_sign_and_point(text: str, form: str) -> None:
    assert answer_form(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("图-160", "图160"),
        ("歼-20战斗机", "歼20战斗机"),
        ("东风-41导弹", "东风41导弹"),
        ("COVID-19", "covid19"),
        ("GPT-4", "gpt4"),
        ("10万-20万元", "10万20万元"),
        ("3亿元-5亿元", "3亿元5亿元"),
        ("26.5亿份−22.0亿份=4.5亿份", "26.5亿份22.0亿份4.5亿份"),
        ("100件-20%", "100件20"),
        ("2020年-2023年", "2020年2023年"),
        ("10%-20%", "10 20"),
        ("2019-2020", "2019 2020"),
        ("e-5", "e5"),
    ],
)
def test_names_and_ranges_have_no_negative_numbers(text: str, form: str) -> None:
    assert answer_form(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("1,2", "1 2"),
        ("1，2", "1 2"),
        ("1,000", "1000"),
        ("1,234,567.8", "1234567.8"),
        ("2019,2020", "2019 2020"),
        ("1,234,56", "1 234 56"),
        ("1,2,000", "1 2 000"),
        ("支出3,500万元，4,240人受益", "支出3500万元4240人受益"),
        ("0.1,234", "0.1 234"),
        ("1..2", "1 2"),
        ("1.2.3", "1.2.3"),
        ("1/2", "1 2"),
        ("10^-5", "10 -5"),
        ("10^5", "10 5"),
        ("end.5", "end5"),
    ],
)
def test_marks_between_digits_are_normalized(text: str, form: str) -> None:
    assert answer_form(text) == form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("增长率为-3.5%", "增长率为3.5%"),
        ("-$0.35", "$0.35"),
        ("1,2", "12"),
        ("1e-5", "1e5"),
        ("同比-3%", "同比3%"),
        ("-0.5", "-05"),
    ],
)
def test_different_values_have_different_answer_forms(one: str, other: str) -> None:
    assert answer_form(one) != answer_form(other)
