import pytest

from components.metrics.em import ExactMatch
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts, value_of


class TestExactMatch(AnswerMetricContract):
    metric = ExactMatch()


class TestExactMatchOmniEvalCompat(AnswerMetricContract):
    metric = ExactMatch(omnieval_compat=True)


@pytest.mark.parametrize(
    ("answer", "references", "expected"),
    [
        ("北京", ("北京",), 1.0),
        ("北京。", ("上海", "“北京”"), 1.0),
        ("１２%", ("12",), 1.0),
        ("New  York", ("new york",), 1.0),
        ("newyork", ("new york",), 0.0),
        ("北京市", ("北京",), 0.0),
        ("", ("北京",), 0.0),
        ("。", ("北京", "！"), 0.0),
    ],
)
def test_exact_match_compares_normalised_texts(answer: str, references: tuple[str, ...], expected: float) -> None:
    scores = score_texts(ExactMatch(), [qa_sample(*references)], [answer])
    assert value_of(scores["em"]) == expected


@pytest.mark.parametrize(
    ("answer", "references", "expected"),
    [
        ("北京", ("北京", "上海"), 0.5),
        ("北京", ("北京", ""), 0.5),
        ("北京。", ("北京",), 0.0),
        ("The Beijing.", ("beijing",), 1.0),
        ("", ("",), 1.0),
    ],
)
def test_published_exact_match_is_a_mean_over_references(
    answer: str, references: tuple[str, ...], expected: float
) -> None:
    scores = score_texts(ExactMatch(omnieval_compat=True), [qa_sample(*references)], [answer])
    assert value_of(scores["em_omnieval_compat"]) == expected
