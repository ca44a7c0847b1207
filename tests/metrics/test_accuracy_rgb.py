"""Expected values are those that RGB's published `checkanswer` and rejection rule give."""

import pytest

from components.metrics.accuracy_rgb import AccuracyRgb
from components.records import Kind, Sample, ScoreState
from tests.contracts.metric_contract import AnswerMetricContract, score_texts, value_of


class TestAccuracyRgb(AnswerMetricContract):
    metric = AccuracyRgb()


@pytest.mark.parametrize(
    ("answer", "parts", "expected"),
    [
        ("It is on January 2 2022, in Sanford", (("January 2 2022", "Jan 2, 2022"), ("Sanford",)), 1.0),
        ("It is on January 2 2022", (("January 2 2022",), ("Sanford",)), 0.0),
        ("in 1932", (("93",),), 1.0),
        ("january 2, 2022", (("January 2 2022",),), 0.0),
        ("There is insufficient information, but perhaps 1932.", (("1932",),), 0.0),
        ("Insufficient information, but perhaps 1932.", (("1932",),), 1.0),
        ("", (("1932",),), 0.0),
    ],
)
def test_rgb_accuracy_compares_answer_parts_character_by_character(
    answer: str, parts: tuple[tuple[str, ...], ...], expected: float
) -> None:
    sample = Sample("s", "qa", Kind.QA, "?", (), answer_parts=parts)
    assert value_of(score_texts(AccuracyRgb(), [sample], [answer])["accuracy_rgb_compat"]) == expected


def test_rejection_of_an_unanswerable_question_is_right() -> None:
    samples = [Sample(str(i), "qa", Kind.QA, "?", (), answerable=False) for i in range(2)]
    scores = score_texts(AccuracyRgb(), samples, ["文档信息不足，我无法回答。", "是杭州。"])["accuracy_rgb_compat"]
    assert scores.values.tolist() == [1.0, 0.0]


def test_blanks_are_ignored_only_for_the_chinese_files() -> None:
    sample = Sample("s", "qa", Kind.QA, "?", (), answer_parts=(("2022年",),))
    for without_blanks, expected in ((True, 1.0), (False, 0.0)):
        scores = score_texts(AccuracyRgb(without_blanks), [sample], ["2022 年"])
        assert value_of(scores["accuracy_rgb_compat"]) == expected


def test_rgb_accuracy_is_not_applicable_without_references() -> None:
    scores = score_texts(AccuracyRgb(), [Sample("s", "qa", Kind.QA, "?", ())], ["x"])
    assert scores["accuracy_rgb_compat"].states == (ScoreState.NOT_APPLICABLE,)
