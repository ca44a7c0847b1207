"""Values of published implementations, from the files in <shared>/golden. Our values equal all of them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from components.metrics.bleu_crud import BleuCrud
from components.metrics.em import ExactMatch
from components.metrics.f1 import F1
from components.metrics.map_omnieval import MapOmniEval
from components.metrics.mrr_per_document import MrrPerDocument
from components.metrics.rouge_l import RougeL
from components.metrics.rouge_omnieval import RougeOmniEval
from components.metrics.trec import TrecMeasures
from components.protocols import AnswerMetric, RankingMetric
from tests.contracts.metric_contract import qa_sample, score_texts

_REPOSITORY = Path(__file__).resolve().parents[2]
_GOLDEN = Path(os.environ.get("RAG_GRID_SHARED", _REPOSITORY.parent / "shared")) / "golden"
_TREC = {"mrr": "recip_rank", "precision@10": "P_10", "recall@10": "recall_10", "ndcg@5": "ndcg_cut_5",
         "ndcg@10": "ndcg_cut_10", "map@10": "map_cut_10"}  # fmt: skip

RANKINGS: list[tuple[RankingMetric, str, tuple[str, str]]] = [
    *((TrecMeasures(tuple(_TREC)), name, ("trec", published)) for name, published in _TREC.items()),
    (MrrPerDocument(), "mrr_per_document", ("crud", "mrr_per_document")),
    (MapOmniEval(), "map_omnieval_compat", ("omnieval", "map")),
    (TrecMeasures(("mrr",)), "mrr", ("omnieval", "mrr")),
]
TEXTS: list[tuple[AnswerMetric, str, tuple[str, str, int | None]]] = [
    (RougeL(crud_compat=True), "rouge_l_crud_compat", ("crud", "rouge_l", None)),
    (BleuCrud(), "bleu_crud_compat", ("crud", "bleu_avg", None)),
    (BleuCrud(), "bleu_answered_crud_compat", ("crud", "bleu_avg", None)),
    *((BleuCrud(), f"bleu_{n}_crud_compat", ("crud", f"bleu_{n}", None)) for n in (1, 2, 3, 4)),
    (F1(omnieval_compat=True), "f1_omnieval_compat", ("omnieval", "f1", None)),
    (ExactMatch(omnieval_compat=True), "em_omnieval_compat", ("omnieval", "em", None)),
    *(
        (RougeOmniEval(), f"rouge_{n}_omnieval_compat", ("omnieval", "rouge_1_2_l", place))
        for place, n in enumerate(("1", "2", "l"))
    ),
]


def _golden(name: str) -> list[dict[str, Any]]:
    path = _GOLDEN / name
    if not path.is_file():
        pytest.skip(f"no {path}: set RAG_GRID_SHARED to the folder that holds golden/")
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases


@pytest.mark.parametrize(
    ("metric", "name", "published"), RANKINGS, ids=lambda value: value if type(value) is str else ""
)
def test_ranking_metrics_equal_the_golden_values(metric: RankingMetric, name: str, published: tuple[str, str]) -> None:
    cases = _golden("ranking.json")
    scores = metric.score_rankings([case["ranking"] for case in cases], [case["relevant"] for case in cases])
    expected = [case[published[0]][published[1]] for case in cases]
    assert scores[name].values.tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("metric", "name", "published"), TEXTS, ids=lambda value: value if type(value) is str else "")
def test_text_metrics_equal_the_golden_values(
    metric: AnswerMetric, name: str, published: tuple[str, str, int | None]
) -> None:
    """A published value of None (an empty answer's BLEU, a division by zero) has no equal."""
    implementation, key, place = published
    cases = [case for case in _golden("text_metrics.json") if implementation in case]
    samples = [qa_sample(*case.get("references", [case.get("reference")])) for case in cases]
    values = score_texts(metric, samples, [case["prediction"] for case in cases])[name].values.tolist()
    found = [case[implementation][key] for case in cases]
    pairs = [(v, e if place is None else e[place]) for v, e in zip(values, found, strict=True) if e is not None]
    assert len(pairs) > 180
    assert [value for value, _ in pairs] == pytest.approx([expected for _, expected in pairs], abs=1e-9)


def test_rouge_l_equals_the_published_one_without_white_space() -> None:
    cases = [
        case
        for case in _golden("text_metrics.json")
        if "crud" in case and not any(map(str.isspace, case["prediction"] + case["reference"]))
    ]
    samples = [qa_sample(case["reference"]) for case in cases]
    scores = score_texts(RougeL(), samples, [case["prediction"] for case in cases])
    assert len(cases) >= 100
    assert scores["rouge_l"].values.tolist() == pytest.approx([case["crud"]["rouge_l"] for case in cases], abs=1e-9)
