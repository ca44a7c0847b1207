from dataclasses import replace

import pytest

from components.testset.gates.arithmetic import Arithmetic
from components.testset.records import PASSED, Draft
from tests.contracts.gate_contract import SilentGateContract
from tests.testset.gates.drafts import SmallCorpus, ask_nobody, draft_on

TEXT = "2022年营收为1,200万元，2021年为1,000万元。门店共三十家。毛利率从35%降至28.5%。"
CORPUS = SmallCorpus({"a": TEXT})
GATE = Arithmetic(constants=(1, 100), tags=False)
GROWTH = "(1200 - 1000) / 1000"


def _draft(expression: str, reference: str) -> Draft:
    return draft_on(CORPUS, "变化了多少？", reference, gold=[("a", TEXT)], expression=expression)


def _reason(expression: str, reference: str) -> str:
    return GATE.verdicts([_draft(expression, reference)], CORPUS, ask_nobody)[0].reason


class TestArithmetic(SilentGateContract):
    component = GATE
    corpus = CORPUS
    good = _draft(GROWTH, "增长了20%。")
    bad = _draft(GROWTH, "增长了25%。")


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        (GROWTH, "20%"),
        (f"{GROWTH} * 100", "增长率为20.0%"),
        ("1,200万 - 1,000万", "200万元"),
        ("1200 - 1000", "2022年多出200万元"),
        ("1200 / 30", "每家店40万元"),
        ("28.5% - 35%", "下降了6.5个百分点"),
        ("(1200 + 1000) / 2", "平均1,100万元"),
        ("1200 / 35", "约34.3"),
        ("1000 / 35", "about 28.57"),
    ],
)
def test_correct_expressions_pass(expression: str, reference: str) -> None:
    assert GATE.verdicts([_draft(expression, reference)], CORPUS, ask_nobody) == [PASSED]


@pytest.mark.parametrize(
    ("expression", "reference", "reason"),
    [
        (GROWTH, "21%", "arithmetic_wrong"),
        (GROWTH, "20.1%", "arithmetic_wrong"),
        (GROWTH, "营收有所增长", "arithmetic_wrong"),
        ("28.5% - 35%", "上升了6.5个百分点", "arithmetic_wrong"),
        ("1200 - 900", "300万元", "operand_not_in_gold"),
        ("1200 / 7", "171.4", "operand_not_in_gold"),
        ("营收之差", "200万元", "expression_unreadable"),
        ("1200 / 0", "200万元", "expression_unreadable"),
    ],
)
def test_wrong_expressions_are_rejected(expression: str, reference: str, reason: str) -> None:
    assert _reason(expression, reference) == reason


def test_every_reference_must_contain_the_number() -> None:
    two = replace(_draft(GROWTH, "20%"), references=("20%", "五分之一左右"))
    assert GATE.verdicts([two], CORPUS, ask_nobody)[0].reason == "arithmetic_wrong"


def test_numbers_must_be_in_the_gold() -> None:
    elsewhere = draft_on(CORPUS, "差多少？", "200万元", gold=[("a", "门店共三十家。")], expression="1200 - 1000")
    assert GATE.verdicts([elsewhere], CORPUS, ask_nobody)[0].reason == "operand_not_in_gold"


def test_drafts_without_an_expression_are_not_checked() -> None:
    assert not GATE.applies_to(_draft(" ", "20%"))
