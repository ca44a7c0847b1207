"""Which cell to take: what a metric cannot see does not count against a cell, and does not choose one either."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.comparison import Family, compare_cells
from analysis.report.choice import choice_of
from components.statistics import PairedTest
from runner import loaded
from runner.loaded import SubsetMetric
from tests.analysis import tiny_sweep
from tests.analysis.tiny_sweep import CELLS, TinyCell

CONFIG = {"metrics": {"scores": {"trec": {"_target_": "components.metrics.trec.TrecMeasures", "measures": ["mrr"]}}}}
COVERED = {2: 0.6, 8: 0.9}


def family_of(tmp_path: Path, metric: str) -> Family:
    """Of bm25 and dense, which nothing tells apart, with two values of top_k each, which make no difference; bm25 is
    the faster one. The values are those of `metric`.
    """
    folder = tiny_sweep.write(tmp_path, [cell_of(cell) for cell in CELLS])
    sweep = loaded.load(folder)
    family = compare_cells(sweep, sweep.metric("rouge_l"), PairedTest())
    return replace(family, metric=SubsetMetric("overall", metric, larger_is_better=True))


def cell_of(cell: TinyCell) -> TinyCell:
    is_fast, top_k = cell.axes["retriever"] == "bm25", cell.axes["top_k"]
    values = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.6, 0.4] if is_fast else [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.4, 0.61]
    entry = {"value": sum(values) / 8, "n": 8, "n_excluded": {}, "ci_low": None, "ci_high": None}
    overall: dict[str, Any] = {"rouge_l": entry, "passage_coverage": {"value": COVERED[top_k]}}
    facts = {"metrics": {"overall": overall}, "latency_s": {"p50": 1.0 if is_fast else 2.0}, "config": CONFIG}
    return replace(cell, rouge_l=values, facts=facts)


def test_by_a_metric_of_answers_the_fewest_tokens_decide(tmp_path: Path) -> None:
    choice = choice_of(family_of(tmp_path, "rouge_l"))
    assert (choice.cell.axes, choice.emptiest) == ({"retriever": "bm25", "top_k": 2}, None)


def test_by_a_metric_of_rankings_the_fastest_with_most_of_the_gold_in_its_prompt(tmp_path: Path) -> None:
    choice = choice_of(family_of(tmp_path, "mrr"))
    assert choice.cell.axes == {"retriever": "bm25", "top_k": 8}
    assert [cell.axes["top_k"] for cell in choice.cells] == [2, 8]
    assert choice.emptiest is not None
    assert choice.emptiest.axes == {"retriever": "bm25", "top_k": 2}
