"""Classes of samples in the report."""

import pytest

from analysis.report.sample_classes import CLASSES, name_class


@pytest.mark.parametrize(
    ("failure", "outcome", "stage", "wanted"),
    [
        ("", "not_judged", "in_context", "reached"),
        ("", "not_judged", "no_gold", "unknown"),
        ("", "not_judged", "not_searched", "unknown"),
        ("", "typical", "no_gold", "typical"),
        ("", "right", "cut", "right_without_evidence"),
        ("", "right", "in_context", "right"),
        ("cut", "not_judged", "cut", "cut"),
    ],
)
def test_sample_without_gold_does_not_count_as_gold_in_the_prompt(
    failure: str, outcome: str, stage: str, wanted: str
) -> None:
    assert name_class(failure, outcome, stage) == wanted
    assert wanted in CLASSES
