"""Copies of gold in a sweep: credited by default, counted, and reported next to strict numbers."""

from pathlib import Path
from typing import Any

import pytest

from tests.runner.sweeping import RANKING_ONLY, cells_in, own_data, run_small

NEWS = (
    "The harbour bridge was opened on 19 March 1932 by the premier, in front of a large crowd that had come by train."
)
TEXTS = {
    "gold": NEWS,
    "a reprint": NEWS,
    "other": "The tower was built of red bricks, and from its top one sees the sea.",
}
SAMPLES = [{"id": "1", "question": "When was the harbour bridge opened?", "gold": ["gold"]}]


def overall(folder: Path, *overrides: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metrics by name, and facts of the data set. Of equal texts the reprint is found first, as its id is smaller."""
    chosen = ("llm=none", "tokenizer=english", "top_k=1", *RANKING_ONLY, *overrides)
    assert run_small(folder, [*own_data(folder, TEXTS, SAMPLES), *chosen]) == 0
    (cell,) = cells_in(folder)
    return {name: entry["value"] for name, entry in cell.metrics["overall"].items()}, dict(cell.dataset)


def test_copy_of_gold_counts_as_gold_except_in_strict_metrics(tmp_path: Path) -> None:
    values, facts = overall(tmp_path)
    assert (values["mrr"], values["mrr_strict"]) == (1.0, 0.5)
    assert (values["passage_coverage"], values["passage_coverage_strict"]) == (1.0, 0.0)
    assert values["ndcg@10_strict"] == pytest.approx(0.6309, abs=1e-4)
    assert (facts["n_gold_units_with_copies"], facts["n_copies_of_gold_units"]) == (1, 1)


def test_credit_of_copies_can_be_turned_off(tmp_path: Path) -> None:
    values, facts = overall(tmp_path, "metrics.credit_copies=false")
    assert values["mrr"] == values["mrr_strict"] == 0.5
    assert values["passage_coverage"] == 0.0
    assert facts["n_copies_of_gold_units"] == 0


def test_published_map_gives_copies_no_credit(tmp_path: Path) -> None:
    values, _ = overall(tmp_path, "+metrics.scores.published._target_=components.metrics.map_omnieval.MapOmniEval")
    assert (values["map@10"], values["map_omnieval_compat"]) == (1.0, 0.5)
