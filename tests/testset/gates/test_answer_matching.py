import pytest

from components.testset.gates.answer_matching import matches_by_rule

TRUE = [
    ("17.6 km", "17.6 km"),
    ("１７.６ＫＭ。", "17.6km"),
    ("《红楼梦》", "红楼梦"),
    ("The line is 17.6 km long.", "17.6 km"),
    ("它的总部在上海。", "上海"),
    ("1,200,000 yuan", "1200000 yuan"),
    ("资产负债率为30%。", "30%"),
]
FALSE = [
    ("", "Paris"),
    ("The text does not mention it.", "Paris"),
    ("文中没有提及。", "上海"),
    ("2019年", "2020年"),
    ("-3", "3"),
]
OPEN = [
    ("不是上海，而是北京", "上海"),
    ("not Paris but Rome", "Paris"),
    ("12 of 19 stops", "19 stops"),
    ("1.2 million", "1,200,000"),
    ("5.2%", "5.23%"),
    ("0.05", "5%"),
    ("Paris, the old town on the river that everybody knows from films and from books, I suppose", "Paris"),
    ("the capital of France", "Paris"),
    ("上海市", "上海浦东"),
    ("15亿元", "15%"),
    ("15", "15%"),
    ("500,000元", "$500,000"),
    ("共有15亿元", "15"),
    ("林业项目和太阳能项目", "林业项目"),
    ("林业项目、太阳能项目", "林业项目"),
    ("Paris, London", "Paris"),
]


@pytest.mark.parametrize(("answer", "reference"), TRUE)
def test_equal_texts_in_other_forms_match(answer: str, reference: str) -> None:
    assert matches_by_rule(answer, [reference]) is True
    assert matches_by_rule(answer, ["another one", reference]) is True


@pytest.mark.parametrize(("answer", "reference"), FALSE)
def test_different_answers_do_not_match_by_rule(answer: str, reference: str) -> None:
    assert matches_by_rule(answer, [reference]) is False


@pytest.mark.parametrize(("answer", "reference"), OPEN)
def test_undecided_matches_are_left_to_a_model(answer: str, reference: str) -> None:
    assert matches_by_rule(answer, [reference]) is None


def test_single_possible_match_is_enough_to_ask_a_model() -> None:
    assert matches_by_rule("2019", ["2020"]) is False
    assert matches_by_rule("2019", ["2020", "the year after the war"]) is None
    assert matches_by_rule("2019", []) is None
