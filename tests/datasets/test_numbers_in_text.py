"""The check of the bundled benchmark's numbers finds wrong ones."""

import pytest

from tests.datasets.numbers_in_text import not_derivable, values, written_numbers

SOURCE = "2023年末余额为908亿元，比上年末的873.5亿元有所增加；其中按揭512亿元，三十二家支行共有员工1,200人，费率0.05%。"


def test_numbers_in_digits_and_words_are_read() -> None:
    assert written_numbers("1,200人，占3.50%") == ["1200", "3.50"]
    assert values("三十二家，两年，一百零五人，1.5倍") == {32.0, 2.0, 105.0, 1.5}


@pytest.mark.parametrize(
    "reference",
    [
        "2023年为908亿元",
        "增加34.5亿元",
        "增长约3.9%",
        "其他396亿元",
        "占56.39%",
        "32家",
        "增加34.5亿元，即345000万元",
        "0.454亿元",
        "三项合计2293.5亿元",
    ],
)
def test_numbers_derivable_from_the_source_are_accepted(reference: str) -> None:
    assert not_derivable([reference], SOURCE) == []


@pytest.mark.parametrize(("reference", "wrong"), [("2031年", "2031"), ("增加34.7亿元", "34.7"), ("占57.39%", "57.39")])
def test_numbers_not_derivable_from_the_source_are_reported(reference: str, wrong: str) -> None:
    assert not_derivable([reference], SOURCE) == [wrong]
