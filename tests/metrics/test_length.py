import pytest

from components.errors import ComponentError
from components.metrics.length import Length
from tests.contracts.metric_contract import AnswerMetricContract, qa_sample, score_texts


class TestLength(AnswerMetricContract):
    metric = Length()


def test_length_counts_characters_with_and_without_references() -> None:
    scores = score_texts(Length(), [qa_sample("北京"), qa_sample(), qa_sample()], ["北京 is\n", "𠀀", ""])
    assert scores["length"].values.tolist() == [6.0, 1.0, 0.0]


def test_length_rejects_a_missing_answer() -> None:
    with pytest.raises(ComponentError, match="got 0 answers and 1 references for 1 samples"):
        score_texts(Length(), [qa_sample("a")], [])
