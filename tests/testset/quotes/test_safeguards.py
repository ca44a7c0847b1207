import pytest

from components.testset.quotes.safeguards import have_same_facts, negations, numbers


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000元", "1000 元"),
        ("１２．５％", "12.5 %"),
        ("运油-20首飞", "运油 -20首飞"),
        ("it isn’t", "it isn't"),
        ("三\u200b十", "三十"),
    ],
)
def test_harmless_changes_pass_the_safeguards(one: str, other: str) -> None:
    assert have_same_facts(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12.5", "125"),
        ("$0.5", "$.5"),  # the same number, but another quote
        ("3%", "3"),
        ("3%、4%", "3、4%"),
        ("利润为-3%", "利润为3%"),
        ("二十", "三十"),
        ("3万", "3亿"),
        ("two of them", "three of them"),
        ("增长", "未增长"),
        ("it is", "it isn't"),
        ("possible", "impossible"),
        ("1与2", "2与1"),
    ],
)
def test_texts_with_different_facts_are_distinguished(one: str, other: str) -> None:
    assert not have_same_facts(one, other)


def test_numbers_and_negations_are_listed() -> None:
    assert numbers("第三季度营收1,234.5万元，同比下降 5 %") == ["三", "1234\ue0005", "万", "5%"]
    assert negations("公司不再盈利 and it cannot pay") == ["不", "cannot"]
