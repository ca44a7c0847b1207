from dataclasses import replace

import pytest

from components.records import Kind, Turn
from components.testset.records import Draft
from components.testset.repeated_questions import NearDuplicateFinder
from tests.testset.gates.drafts import SmallCorpus, draft_on

CORPUS = SmallCorpus({"a": "关于有轨电车的报道。"})
OTHER = SmallCorpus({"b": "关于另一家公司的报道。"})
GATE = NearDuplicateFinder()


def _draft(name: str, question: str, reference: str, corpus: SmallCorpus = CORPUS) -> Draft:
    return replace(draft_on(corpus, question, reference), id=name)


LENGTH = _draft("length", "青砚有轨电车2号线全长多少公里？", "17.6公里")


@pytest.mark.parametrize(
    ("question", "reference"),
    [
        ("青砚有轨电车２号线全长多少公里", "全长17.6公里。"),
        ("青砚有轨电车2号线的全长是多少公里？", "17.6公里"),
        ("请问青砚有轨电车2号线全长为多少公里？", "2号线全长17.6公里"),
        ("青砚有轨电车2号线全长多少公里？", "不知道"),  # word for word
    ],
)
def test_reworded_questions_are_near_duplicates(question: str, reference: str) -> None:
    assert GATE.repeats([_draft("new", question, reference)], [LENGTH]) == {"new": "length"}


@pytest.mark.parametrize(
    ("question", "reference"),
    [
        ("青砚有轨电车3号线全长多少公里？", "17.6公里"),  # a number
        ("青砚有轨电车三号线全长多少公里？", "17.6公里"),
        ("青砚有轨电车2号线未建的部分全长多少公里？", "17.6公里"),  # a negation
        ("青砚有轨电车2号线全长多少公里？其中地下多少公里？", "3公里"),  # the answer
        ("青砚有轨电车2号线票价多少元？", "4元"),
        ("远山有轨电车2号线全长多少公里？", "35公里"),
    ],
)
def test_different_questions_are_not_near_duplicates(question: str, reference: str) -> None:
    assert GATE.repeats([_draft("new", question, reference)], [LENGTH]) == {}


def test_same_question_about_two_companies_is_not_a_duplicate() -> None:
    asked = "请结合{}有限公司2021年的财务报告，总结公司对未来的展望。"
    bank, fund = (_draft(name, asked.format(name), "公司对未来充满信心。", corpus)
                  for name, corpus in (("北方银行", CORPUS), ("南海基金", OTHER)))  # fmt: skip
    assert GATE.repeats([bank, fund], []) == {}


def test_synonym_is_a_near_duplicate_only_within_one_document() -> None:
    asked = "青砚轨道运营公司为老津桥采取了哪些{}？"
    measures, steps = (_draft(word, asked.format(word), "加固了桥墩。") for word in ("措施", "办法"))
    assert GATE.repeats([measures, steps], []) == {"办法": "措施"}
    elsewhere = replace(steps, evidence=_draft("", "", "", OTHER).evidence)
    assert GATE.repeats([measures, elsewhere], []) == {}
    delays = _draft("晚点情况", asked.format("晚点情况"), "加固了桥墩。")
    assert GATE.repeats([measures, delays], []) == {}


def test_near_duplicates_are_found_in_english() -> None:
    first = _draft("first", "How long is line 2 of the tram in Qingyan?", "17.6 kilometres")
    same = _draft("same", "How long is the line 2 of the Qingyan tram?", "It is 17.6 kilometres long.")
    not_yet = _draft("not", "How long is line 2 of the tram not in Qingyan?", "17.6 kilometres")
    assert GATE.repeats([same, not_yet], [first]) == {"same": "first"}


def test_turns_are_near_duplicates_only_with_equal_history() -> None:
    turn = replace(_draft("turn", "它有多少座车站？", "19座"), history=(Turn("2号线全长多少公里？", "17.6公里"),))
    again = replace(turn, id="again")
    elsewhere = replace(turn, id="elsewhere", history=(Turn("地铁何时开通的？", "去年"),))
    alone = replace(turn, id="alone", history=())
    assert GATE.repeats([turn, again, elsewhere, alone], []) == {"again": "turn"}


def test_passages_without_questions_are_compared_by_their_text() -> None:
    text = "列车经加固后的老津桥跨越砚江，从南岸柳埠站到北岸书院街站只要6分钟。"
    first = replace(_draft("first", text, "甲"), kind=Kind.CONTINUATION)
    reprint = replace(first, id="reprint", question=text.replace("6分钟", "7分钟"), references=("乙",))
    question = replace(reprint, id="question", kind=Kind.QA)
    assert GATE.repeats([first, reprint, question], []) == {"reprint": "first"}


def test_first_ranked_near_duplicate_remains() -> None:
    second = _draft("second", "青砚有轨电车2号线的全长是多少公里？", "17.6公里")
    third = _draft("third", "青砚有轨电车2号线的全长是几公里？", "17.6公里")
    assert GATE.repeats([LENGTH, second], []) == {"second": "length"}
    assert GATE.repeats([second, LENGTH], []) == {"length": "second"}
    assert GATE.repeats([third, second], [LENGTH]) == {"second": "length"}  # and not the third, which stays
    assert GATE.repeats([], [LENGTH, LENGTH]) == {}


def test_near_duplicate_threshold_is_inclusive_of_rewordings() -> None:
    reworded = _draft("new", "青砚有轨电车2号线的全长是多少公里？", "17.6公里")
    assert NearDuplicateFinder(0.9).repeats([reworded], [LENGTH]) == {}
    assert [NearDuplicateFinder(share).check() != [] for share in (0.0, 0.5, 1.0, 1.1)] == [True, False, False, True]


def test_questions_without_words_have_no_duplicates() -> None:
    odd = [_draft(str(number), question, "") for number, question in enumerate(["", "？？", "😀", "\u202e"])]
    assert GATE.repeats(odd, odd) == {}


def test_many_questions_are_compared_quickly() -> None:
    many = [
        _draft(str(n), f"第{n}号公司在{n % 7}月的{chr(0x4E00 + n)}项目投资了多少？", f"{n}万元") for n in range(3000)
    ]
    assert GATE.repeats(many, []) == {}
