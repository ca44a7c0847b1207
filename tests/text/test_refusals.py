"""Answers that say that there is none."""

import pytest

from components.text.refusals import ABSTENTIONS, is_refusal


@pytest.mark.parametrize(
    "answer",
    [
        *ABSTENTIONS,
        "抱歉，我无法回答这个问题。",
        "根据提供的资料，无法确定具体时间。",
        "文中没有提到相关内容。",
        "资料中并未提及该公司的负责人。",
        "没有足够的信息来回答。",
        "我不知道。",
        "未知",
        "I'm sorry, but I can't help with that.",
        "The context does not mention the date.",
        "There is no information about this in the documents.",
        "It cannot be determined from the text.",
        "I don’t know.",
        "The provided passages don't contain the answer.",
        "Unknown.",
    ],
)
def test_answers_that_decline_are_refusals(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "The bridge was built in 1887.",
        "大桥建成于1887年。",
        "公司营业收入为12.5亿元，同比增长8%。",
        "An unknown soldier lies there.",
        "无法律效力",
        "The company does business in 20 countries.",
        "大桥建成于一八八七年，由著名的工程师主持修建，全长约八百米，是当时全国最长的钢结构桥梁之一，通车以来历经多次加固与维修，至今仍在使用。其最初的造价无法确定。",
        "I cannot answer in one word. " + "It took many years to build. " * 8,
    ],
)
def test_substantive_answer_is_not_a_refusal(answer: str) -> None:
    assert not is_refusal(answer)
