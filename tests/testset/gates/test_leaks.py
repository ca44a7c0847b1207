from dataclasses import replace

import pytest

from components.records import Kind, Turn
from components.testset.gates.leaks import Leaks
from components.testset.records import PASSED, Draft
from tests.contracts.gate_contract import SilentGateContract
from tests.testset.gates.drafts import SmallCorpus, ask_nobody, draft_on

TITLE = "青砚市轨道交通建设与运营管理办法实施细则（试行）"
TEXT = "列车经加固后的老津桥跨越砚江，从南岸柳埠站到北岸书院街站只要6分钟，而此前乘公交车绕行新桥大约需要25分钟。"
ENGLISH = (
    "The company has adopted a new framework for managing operational risk in all of its branches since March 2020."
)
CORPUS = SmallCorpus(
    {"a": TEXT, "b": ENGLISH}, {"a": TITLE, "b": "The Annual Report of the Northern Bank on Operational Risk"}
)
GATE = Leaks(shortest_reference=4, longest_run=24, shortest_title=20, tags=False)


def _draft(question: str, reference: str = "6分钟", gold: str = "a") -> Draft:
    return draft_on(CORPUS, question, reference, gold=[(gold, CORPUS.texts[gold])])


def _reason(draft: Draft) -> str:
    return GATE.verdicts([draft], CORPUS, ask_nobody)[0].reason


class TestLeaks(SilentGateContract):
    component = GATE
    corpus = CORPUS
    good = _draft("2号线从柳埠站到书院街站要多久？")
    bad = _draft("２号线跨越砚江，只要六分钟零三秒就到了书院街站吗？", "六分钟，零三秒。")


def test_reference_in_the_question_or_an_earlier_question_is_a_leak() -> None:
    assert _reason(_draft("书院街站在哪一岸的北岸书院街？", "北岸书院街")) == "reference_in_question"
    turns = replace(_draft("那是什么站？", "北岸书院街"), history=(Turn("北岸书院街有站吗？", "有。"),))
    assert _reason(turns) == "reference_in_question"
    answered = replace(_draft("那是什么站？", "北岸书院街"), history=(Turn("什么站？", "北岸书院街"),))
    assert _reason(answered) == ""


@pytest.mark.parametrize(
    "draft",
    [
        _draft("2019年书院街站开通了吗？", "是"),
        _draft("柳埠站街区和书院街站哪个更靠北？", "书院街站"),
        _draft("老津桥大桥还是砚江新大桥更早？", "老津桥大桥"),
        _draft(
            "Which grew faster, the Northern Bank of Commerce or the Southern Bank?",
            "the Northern Bank of Commerce",
            "b",
        ),
        _draft("书院街站上车的人有多少？", "书院街站下车"),
    ],
)
def test_harmless_questions_are_not_leaks(draft: Draft) -> None:
    assert GATE.verdicts([draft], CORPUS, ask_nobody) == [PASSED]


def test_question_copied_from_the_gold_is_a_leak() -> None:
    copied = "列车经加固后的老津桥跨越砚江，从南岸柳埠站到北岸书院街站要多少分钟？"
    assert _reason(_draft(copied)) == "gold_wording_in_question"
    english = "When did it adopt a new framework for managing operational risk in all of its branches since?"
    assert _reason(_draft(english, "in March 2020", "b")) == "gold_wording_in_question"
    assert _reason(_draft("When was the new framework for managing operational risk adopted?", "March 2020", "b")) == ""


def test_title_in_the_question_is_a_leak() -> None:
    assert _reason(_draft(f"《{TITLE}》规定了什么？")) == "title_in_question"
    assert _reason(_draft("《青砚市轨道交通建设与运营管理办法》规定了什么？")) == ""
    english = "What does the annual report of the northern bank on operational risk say?"
    assert _reason(_draft(english, "nothing", "b")) == "title_in_question"  # ten words count as 20 characters
    longer = replace(GATE, shortest_title=21)
    assert longer.verdicts([_draft(english, "no", "b")], CORPUS, ask_nobody) == [PASSED]


def test_leak_gate_skips_corrections() -> None:
    assert not GATE.applies_to(replace(_draft(TEXT, TEXT), kind=Kind.CORRECTION))


def test_leak_gate_ignores_gold_outside_the_corpus() -> None:
    assert GATE.verdicts([_draft(TEXT[:30] + "？")], SmallCorpus({}), ask_nobody) == [PASSED]
