import numpy as np
import pytest

from components.errors import ComponentError
from components.metrics.context_tokens import ContextTokens
from components.records import Context
from tests.contracts.metric_contract import DOCUMENTS, ContextMetricContract, qa_sample


class TestContextTokens(ContextMetricContract):
    metric = ContextTokens()


_CONTEXT = Context(
    chunk=np.array([[0, 1], [-1, -1]], dtype=np.int32),
    n_tokens=np.array([120, 0], dtype=np.int64),
    n_tokens_dropped=np.array([30, 0], dtype=np.int64),
)


def test_context_tokens_reports_used_and_dropped_counts() -> None:
    scores = ContextTokens().score_contexts([qa_sample(), qa_sample()], DOCUMENTS, [[], []], _CONTEXT)
    assert scores["context_tokens"].values.tolist() == [120, 0]
    assert scores["context_tokens_dropped"].values.tolist() == [30, 0]


def test_context_tokens_reject_a_missing_context() -> None:
    with pytest.raises(ComponentError, match="2 contexts for 3 samples"):
        ContextTokens().score_contexts([qa_sample()] * 3, DOCUMENTS, [[]] * 3, _CONTEXT)
