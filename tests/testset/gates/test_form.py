"""Each error in the form of a question or a reference has a separate reason."""

from dataclasses import replace

import pytest

from components.records import Kind
from components.testset.gates.form import REASONS, Form
from components.testset.records import PASSED, Draft, VerdictState
from tests.contracts.gate_contract import SilentGateContract
from tests.testset.gates.drafts import SmallCorpus, ask_nobody, draft_on

CHINESE = SmallCorpus({"a": "青砚有轨电车2号线全长17.6公里，共设车站19座，由青砚轨道运营公司负责管理。"})
ENGLISH = SmallCorpus({"a": "The tram is 17.6 kilometres long and has 19 stops, which the city's own company manages."})
GATE = Form(shortest_question=4, longest_question=60, longest_reference=100)
GOOD = draft_on(CHINESE, "青砚有轨电车2号线全长多少公里？", "17.6公里")
LONG_ENGLISH = "The line is 17.6 kilometres long, and the company of the city has managed it since 2019."

BAD: dict[str, Draft] = {
    "question_empty": replace(GOOD, question=" \n"),
    "reference_empty": replace(GOOD, references=("17.6公里", " ")),
    "unprintable": replace(GOOD, references=("17.6\x00公里",)),
    "question_too_short": replace(GOOD, question="谁？"),
    "question_too_long": replace(GOOD, question=GOOD.question * 5),
    "reference_too_long": replace(GOOD, references=("公里" * 51,)),
    "not_a_question": replace(GOOD, question="青砚有轨电车2号线全长17.6公里。"),
    "question_in_other_language": replace(GOOD, question="How long is line 2 of the tram that was opened in the city?"),
    "reference_in_other_language": replace(GOOD, references=(LONG_ENGLISH,)),
    "non_answer": replace(GOOD, references=("2号线的长度在规划中有说明。3号线的长度未提及。",)),
    "points_at_document": replace(GOOD, question="根据上文，2号线全长多少公里？"),
    "personal_email": replace(GOOD, references=("请写信给li@example.com",)),
    "personal_phone": replace(GOOD, references=("请拨打13800138000",)),
    "personal_identity_number": replace(GOOD, references=("11010519491231002X",)),
    "personal_card_number": replace(GOOD, references=("4111 1111 1111 1111",)),
}


class TestForm(SilentGateContract):
    component = GATE
    corpus = CHINESE
    good = GOOD
    bad = BAD["points_at_document"]


def test_every_form_reason_has_a_bad_draft() -> None:
    assert set(BAD) == set(REASONS)


@pytest.mark.parametrize("reason", BAD)
def test_each_bad_draft_is_rejected_with_its_reason(reason: str) -> None:
    (verdict,) = GATE.verdicts([BAD[reason]], CHINESE, ask_nobody)
    assert (verdict.state, verdict.reason) == (VerdictState.REJECTED, reason)


@pytest.mark.parametrize("reason", BAD)
def test_each_reason_can_be_a_remark(reason: str) -> None:
    (verdict,) = replace(GATE, only_tagged=(reason,)).verdicts([BAD[reason]], CHINESE, ask_nobody)
    assert (verdict.state, verdict.reason) == (VerdictState.TAGGED, reason)


def test_rejection_takes_precedence_over_a_remark() -> None:
    both = replace(BAD["question_too_short"], references=("13800138000",))
    (verdict,) = replace(GATE, only_tagged=("question_too_short",)).verdicts([both], CHINESE, ask_nobody)
    assert (verdict.state, verdict.reason) == (VerdictState.REJECTED, "personal_phone")


def test_non_question_texts_skip_question_rules() -> None:
    text = "上文提到，热线是010-62345678。" * 20
    for kind in (Kind.CONTINUATION, Kind.SUMMARIZATION, Kind.CORRECTION):
        assert GATE.verdicts([replace(GOOD, kind=kind, question=text)], CHINESE, ask_nobody) == [PASSED]


@pytest.mark.parametrize(
    ("question", "reference"),
    [("ACME公司的CEO是谁？", "John Smith"), ("IBM的ROE为多少？", "12%"), ("2号线由谁管理？", "青砚轨道运营公司")],
)
def test_names_do_not_decide_the_language(question: str, reference: str) -> None:
    assert GATE.verdicts([replace(GOOD, question=question, references=(reference,))], CHINESE, ask_nobody) == [PASSED]


def test_answer_about_missing_disclosure_is_not_a_refusal() -> None:
    answer = replace(GOOD, references=("逾期未披露的发行人，新增注册将被暂停受理六个月。",))
    assert GATE.verdicts([answer], CHINESE, ask_nobody) == [PASSED]


def test_questions_in_another_language_than_english_are_rejected() -> None:
    good = draft_on(ENGLISH, "How long is the tram line that the city manages?", "It is 17.6 kilometres long.")
    chinese = replace(good, question="这条有轨电车线路全长多少公里？")
    verdicts = GATE.verdicts([good, chinese], ENGLISH, ask_nobody)
    assert [verdict.reason for verdict in verdicts] == ["", "question_in_other_language"]


def test_unknown_form_reasons_are_an_error() -> None:
    assert replace(GATE, only_tagged=("phone",), shortest_question=0).check() == [
        "shortest_question: got 0, expected at least 1",
        f"only_tagged: got 'phone', expected one of {', '.join(REASONS)}",
    ]
