from collections.abc import Mapping, Sequence

import pytest

from components.errors import ComponentError
from components.metrics.mrr_per_document import MrrPerDocument
from tests.contracts.metric_contract import RankingMetricContract


class TestMrrPerDocument(RankingMetricContract):
    metric = MrrPerDocument()


@pytest.mark.parametrize(
    ("ranking", "relevant", "expected"),
    [
        (["a", "b", "c"], {"b": 1}, 1 / 2),
        (["a", "b", "c"], {"a": 1, "c": 1}, (1 + 1 / 3) / 2),
        (["a", "b"], {"a": 1, "z": 1}, 1 / 2),
        (["a", "b"], {"a": 5, "b": 1}, 3 / 4),
        (["a"], {"z": 1}, 0.0),
    ],
)
def test_mrr_per_document_equals_hand_computed_values(
    ranking: Sequence[str], relevant: Mapping[str, int], expected: float
) -> None:
    scores = MrrPerDocument().score_rankings([ranking], [relevant])
    assert scores["mrr_per_document"].values.tolist() == pytest.approx([expected])


def test_mrr_per_document_rejects_a_missing_mapping() -> None:
    with pytest.raises(ComponentError, match="0 mappings for 1 rankings"):
        MrrPerDocument().score_rankings([["a"]], [])
