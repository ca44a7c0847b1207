import pytest

from components.metrics.em import ExactMatch
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, value_of


class TestExactMatch(AnswerMetricContract):
    metric = ExactMatch()


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
def test_equality_after_normalisation(answer: str, references: tuple[str, ...], expected: float) -> None:
    scores = ExactMatch().score_answers([qa_sample(*references)], [answer])
    assert value_of(scores["em"]) == expected
