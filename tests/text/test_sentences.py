import time
from itertools import pairwise

import numpy as np
import pytest

from components.text.sentences import sentence_ends


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sentence_ends(text).tolist()])]


@pytest.mark.parametrize(
    "expected",
    [
        [],
        [" "],
        ["没有标点"],
        ["今天下雨。", "明天晴！", "后天呢？", "不知道；", "再说……", "完"],
        ["增长3.5%，达到1,250.5亿元。", "其中A.B公司占2.0成。"],
        ["他说：“好。”", "然后走了。", "（见附录。）", "『完！』", "结束"],
        ["真的吗？！", "真的！！！", "好"],
        ["第一行\n", "第二行\n\n  ", "第三行"],
        ["It rose 3.5 percent. ", "Then it fell to 2.75! ", "Why? ", "Nobody knows; ", "really"],
        ['She said "no." ', "(He agreed.) ", "The end... ", "yes."],
        ["It was 2021. ", "Then came 2022."],
        ["See v1.2.3 at example.org/a.b"],
        ["1. 第一条"],
    ],
)
def test_sentences_end_at_their_boundaries(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


def test_sentence_ends_are_increasing_int32() -> None:
    ends = sentence_ends("一。二！？三\n\n四")
    assert ends.dtype == np.int32
    assert ends.tolist() == [2, 5, 8, 9]


@pytest.mark.parametrize("leader", ["." * 50_000, "5." + " " * 50_000, "。" * 50_000])
def test_long_line_of_dots_is_split_in_linear_time(leader: str) -> None:
    """A search that restarts at every full stop would take minutes."""
    started = time.process_time()
    assert sentence_ends(f"Contents {leader}7")[-1] == len(leader) + 10
    assert time.process_time() - started < 1
