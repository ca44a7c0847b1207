"""Values that published implementations print, from the files in <shared>/golden."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from components.metrics.mrr_per_document import MrrPerDocument
from components.metrics.rouge_l import RougeL
from components.metrics.trec import TrecMeasures
from tests.contracts.metric_contract import qa_sample

_REPOSITORY = Path(__file__).resolve().parents[2]
_GOLDEN = Path(os.environ.get("RAG_GRID_SHARED", _REPOSITORY.parent / "shared")) / "golden"

_MEASURES = {
    "mrr": "recip_rank",
    "precision@10": "P_10",
    "recall@10": "recall_10",
    "ndcg@5": "ndcg_cut_5",
    "ndcg@10": "ndcg_cut_10",
    "map@10": "map_cut_10",
}


def _golden(name: str) -> list[dict[str, Any]]:
    path = _GOLDEN / name
    if not path.is_file():
        pytest.skip(f"no {path}: set RAG_GRID_SHARED to the folder that holds golden/")
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases


@pytest.fixture(scope="module")
def rankings() -> list[dict[str, Any]]:
    return _golden("ranking.json")


@pytest.mark.parametrize("measure", _MEASURES)
def test_trec_measures(rankings: list[dict[str, Any]], measure: str) -> None:
    scores = TrecMeasures(tuple(_MEASURES)).score_rankings(
        [case["ranking"] for case in rankings], [case["relevant"] for case in rankings]
    )
    expected = [case["trec"][_MEASURES[measure]] for case in rankings]
    assert scores[measure].values.tolist() == pytest.approx(expected, abs=1e-9)


def test_mrr_per_document(rankings: list[dict[str, Any]]) -> None:
    scores = MrrPerDocument().score_rankings(
        [case["ranking"] for case in rankings], [case["relevant"] for case in rankings]
    )
    expected = [case["crud"]["mrr_per_document"] for case in rankings]
    assert scores["mrr_per_document"].values.tolist() == pytest.approx(expected, abs=1e-9)


def test_rouge_l_where_white_space_does_not_matter() -> None:
    """CRUD-RAG counts white space as words; without any, its ROUGE-L is the plain one."""
    cases = [
        case
        for case in _golden("text_metrics.json")
        if "crud" in case and not any(map(str.isspace, case["prediction"] + case["reference"]))
    ]
    samples = [qa_sample(case["reference"]) for case in cases]
    scores = RougeL().score_answers(samples, [case["prediction"] for case in cases])
    assert len(cases) >= 100
    assert scores["rouge_l"].values.tolist() == pytest.approx([case["crud"]["rouge_l"] for case in cases], abs=1e-9)
