"""Cells that failed too often to be a result."""

from typing import Any

import pytest

from runner.output.collect import _too_many_failures


def summary(n: int, **excluded: int) -> dict[str, Any]:
    metrics = {"overall": {"accuracy": {"n": n, "n_excluded": excluded}}}
    return {"n_samples": 100, "judges": {}, "counts": {}, "commonest_errors": {}, "errors": {}, "metrics": metrics}


@pytest.mark.parametrize(
    ("judged", "reasons"),
    [
        (summary(0, failed=6, not_drawn=94), ["6 of 6 judgements of accuracy failed, more than run.max_failure_rate="]),
        (summary(3, failed=2, not_applicable=95), ["2 of 5 judgements of accuracy failed"]),
        (summary(8, failed=2, unparsable=0, not_drawn=90), []),
        (summary(2, failed=1, unparsable=7, not_drawn=90), []),
    ],
)
def test_failed_judgements_are_counted_among_the_requested_ones(judged: dict[str, Any], reasons: list[str]) -> None:
    found = _too_many_failures(judged, 0.25)
    assert len(found) == len(reasons)
    assert all(reason in text for reason, text in zip(reasons, found, strict=True))
