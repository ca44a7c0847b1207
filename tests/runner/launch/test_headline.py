"""The metric that ranks a sweep, and the leaderboard as a file."""

import csv
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from runner.launch.headline import choose_headline, planned_headline
from runner.launch.request import check_jobs
from runner.output.leaderboard_csv import leaderboard_csv
from runner.results import CellResult
from runner.results.joined_samples import CommonMeans
from runner.results.leaderboard_order import rank_cells
from tests.runner.sweeping import (
    FEW_METRICS,
    cells_in,
    compose_job,
    own_data,
    plan_small,
    run_small,
    small_request,
    store_of,
    sweep_in,
)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["llm=extractive"], "ndcg@10"),
        (["llm=none"], "ndcg@10"),
        (["llm=extractive", "~metrics.scores.trec"], "passage_coverage"),
        (["llm=openai", "llm.model=m", "llm.api_key_env=''"], ""),
        (["llm=extractive", "judge=omnieval", "judge.llm.model=m", "judge.llm.api_key_env=''"], ""),
        (["llm=extractive", "run.headline=em"], "em"),
    ],
)
def test_retrieval_metric_is_the_headline_without_a_language_model(overrides: list[str], expected: str) -> None:
    assert choose_headline([small_request(*overrides).cell]) == expected


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["metrics=qa", "llm=openai", "llm.model=m", "llm.api_key_env=''"], "contains_all"),
        (["llm=openai", "llm.model=m", "llm.api_key_env=''"], ""),
        (["metrics=qa", "llm=extractive"], "ndcg@10"),
        (["metrics=qa", "llm=extractive", "retriever=given"], "contains_all"),
        (["metrics=qa", "llm=extractive", "retriever=oracle"], "ndcg@10"),
        (["metrics=qa", "llm=extractive", "judge=omnieval", "judge.llm.model=m", "judge.llm.api_key_env=''"], ""),
        (["metrics=qa", "llm=extractive", "run.headline=em"], "em"),
    ],
)
def test_answer_parts_metric_ranks_generated_answers(overrides: list[str], expected: str) -> None:
    assert choose_headline([small_request(*overrides).cell], has_answer_parts=True) == expected


def test_given_passages_have_no_headline_metric() -> None:
    assert choose_headline([small_request("llm=extractive", "retriever=given").cell]) == ""


def test_single_language_model_cell_makes_the_sweep_rank_answers() -> None:
    cells = [small_request(f"llm={llm}", *own).cell for llm, own in (("extractive", []), ("openai", [
        "llm.model=m", "llm.api_key_env=''"]))]  # fmt: skip
    assert choose_headline(cells) == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ndcg@11", "did you mean ndcg@10?"),
        ("length", "neither larger nor smaller is better. Choose one of"),
        ("x", "expected one of"),
    ],
)
def test_headline_that_cannot_rank_is_an_error(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"run\.headline: ") as raised:
        check_jobs([compose_job(f"run.headline={name}")])
    assert said in str(raised.value)


def cell(name: str, **values: float) -> CellResult:
    metrics: dict[str, Any] = {
        "overall": {metric: {"value": value, "n": 3, "ci_low": None} for metric, value in values.items()}
    }
    return CellResult(
        name, "OK", {"retriever": "=cmd"}, (), {}, {}, metrics=metrics, larger_is_better={"f1": True, "ndcg@10": True}
    )


def test_headline_is_the_first_column_and_sets_the_order() -> None:
    cells = [cell("a", f1=0.1, **{"ndcg@10": 0.9}), cell("b", f1=0.2, **{"ndcg@10": 0.1})]
    assert [c.cell_id for c in rank_cells(cells)[1]] == ["b", "a"]
    metrics, ordered = rank_cells(cells, "ndcg@10")
    assert (metrics, [c.cell_id for c in ordered]) == (["ndcg@10", "f1"], ["a", "b"])
    assert rank_cells(cells, "not_computed") == rank_cells(cells)


def test_leaderboard_csv_has_columns_for_intervals_and_counts() -> None:
    rows = list(csv.reader(leaderboard_csv([cell("a", f1=0.1)], ["retriever"], ["f1", "em"]).decode().splitlines()))
    assert rows[0] == [
        "cell",
        "status",
        "retriever",
        *(f"{m}{of}" for m in ("f1", "em") for of in ("", " low", " high", " n")),
    ]
    assert rows[1] == ["a", "OK", "'=cmd", "0.1", "", "", "3", "", "", "", ""]


def test_leaderboard_file_contains_the_common_means_that_order_it() -> None:
    """Means of cells that exclude different samples may have another order; "c" shares no left-out sample."""
    common = CommonMeans(2, {"a": 0.4, "b": 0.3}, n_known=3)
    _, ordered = rank_cells([cell("c", f1=0.2), cell("b", f1=0.5), cell("a", f1=0.1)], common=common)
    rows = list(csv.DictReader(leaderboard_csv(ordered, ["retriever"], ["f1", "em"], common).decode().splitlines()))
    columns = ("cell", "f1 common", "common n", "f1")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("a", "0.4", "2", "0.1"),
        ("b", "0.3", "2", "0.5"),
        ("c", "", "", "0.2"),
    ]


def test_sweep_writes_its_leaderboard(tmp_path: Path) -> None:
    assert run_small(tmp_path, ["retriever=bm25", *FEW_METRICS], ["retriever=closed_book", *FEW_METRICS]) == 0
    assert sweep_in(tmp_path).headline == "ndcg@10"
    with (tmp_path / "results" / "a-sweep" / "leaderboard.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["retriever"] for row in rows] == ["bm25", "closed_book"]
    bm25, _ = cells_in(tmp_path)
    assert float(rows[0]["ndcg@10"]) == bm25.value("ndcg@10")
    assert float(rows[0]["ndcg@10 low"]) < float(rows[0]["ndcg@10"])
    assert rows[1]["ndcg@10"] == ""


def test_leaderboard_of_cells_with_different_samples_has_common_means(tmp_path: Path) -> None:
    scripted = (*FEW_METRICS, "llm=scripted", "run.max_failure_rate=1")
    assert run_small(tmp_path, scripted, (*scripted, "llm.error_on='的'")) == 0
    whole, part = (one.metrics["overall"]["rouge_l"]["n"] for one in cells_in(tmp_path))
    assert 0 < part < whole
    (path,) = (tmp_path / "results").glob("*/leaderboard.csv")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert [row["common n"] for row in rows] == [str(part)] * 2
    assert float(rows[0]["rouge_l common"]) == pytest.approx(float(rows[1]["rouge_l common"]))


QUESTIONS = [{"id": f"q{place}", "question": "Where?", "references": ["Here"]} for place in range(4)]
GOLD = {"gold": ["a"]}


ASKING = ["metrics=qa", "llm=openai", "llm.model=m", "llm.api_key_env=''"]


@pytest.mark.parametrize(
    ("samples", "overrides", "expected", "why"),
    [
        ([{**QUESTIONS[0], **GOLD}, *QUESTIONS[1:]], [], "rouge_l", "only 1 of 4 samples have gold in the corpus"),
        ([{**own, **GOLD} for own in QUESTIONS], [], "ndcg@10", "no language model answers or judges"),
        ([{**QUESTIONS[0], **GOLD}, *QUESTIONS[1:]], ["llm=none"], "ndcg@10", "no language model answers or judges"),
        ([{**QUESTIONS[0], **GOLD}, *QUESTIONS[1:]], ["run.headline=em"], "em", ""),
        (
            [{"id": f"q{place}", "question": "Where?", **(GOLD if not place else {})} for place in range(4)],
            [],
            "ndcg@10",
            "no language model answers or judges",
        ),
        ([{"id": "q", "question": "Where?"}], [], "ndcg@10", "no metric can tell which cell is better"),
        (
            [{"id": "q", "question": "Where?"}],
            ["llm=openai", "llm.model=m", "llm.api_key_env=''"],
            "",
            "no metric can tell which cell is better",
        ),
        (
            [{"id": "q", "question": "Where?"}],
            ["judge=omnieval", "judge.llm.model=m", "judge.llm.api_key_env=''"],
            "",
            "",
        ),
        ([{"id": "q", "question": "Where?", "answerable": False}], [], "ndcg@10", "no language model answers"),
        (
            [{**own, "answer_parts": ["here"]} for own in QUESTIONS[:2]] + QUESTIONS[2:],
            ASKING,
            "contains_all",
            "must contain",
        ),
        ([{**QUESTIONS[0], "answer_parts": ["here"]}, *QUESTIONS[1:]], ASKING, "", ""),
    ],
    ids=[
        "few have gold",
        "all have gold",
        "nothing answers",
        "named",
        "no references",
        "nothing is known",
        "a model answers but nothing is known",
        "a judge grades",
        "no answer is right",
        "half have answer parts",
        "few have answer parts",
    ],
)
def test_plan_ranks_by_a_metric_that_most_samples_have(
    tmp_path: Path, samples: list[dict[str, object]], overrides: list[str], expected: str, why: str
) -> None:
    data = own_data(tmp_path, {"a": "It is here.", "b": "It is there."}, samples)
    plan = plan_small(tmp_path, [*data, "language=en", *overrides])
    name, lines = planned_headline(plan.cells, store_of(tmp_path))
    assert name == expected
    assert [why in line for line in lines] == ([True] if why else [])


PASSAGES = {"gold": [{"document": "a", "quote": "It is here."}]}


@pytest.mark.parametrize(
    ("gold", "swept", "expected"),
    [
        (PASSAGES, ["top_k=1", "top_k=2"], "passage_coverage"),
        (PASSAGES, ["chunk.size=32", "chunk.size=64"], "ndcg@10"),
        (PASSAGES, ["prompt=english", "prompt=english_cited"], "ndcg@10"),
        (PASSAGES, ["top_k=1"], "ndcg@10"),
        (PASSAGES, ["top_k=1 run.headline=ndcg@10", "top_k=2 run.headline=ndcg@10"], "ndcg@10"),
    ],
    ids=["only coverage sees it", "rankings see it", "neither sees it", "one cell", "named"],
)
def test_coverage_is_the_headline_if_rankings_do_not_see_an_axis(
    tmp_path: Path, gold: dict[str, object], swept: list[str], expected: str
) -> None:
    data = own_data(tmp_path, {"a": "It is here.", "b": "It is there."}, [{**own, **gold} for own in QUESTIONS])
    plan = plan_small(tmp_path, *([*data, "language=en", *words.split()] for words in swept))
    name, lines = planned_headline(plan.cells, store_of(tmp_path))
    assert name == expected
    assert any("ndcg@10 does not depend on top_k" in line for line in lines) == (expected == "passage_coverage")
    assert any("read it together with context_tokens" in line for line in lines) == (expected == "passage_coverage")


@pytest.mark.parametrize(
    ("gold", "sizes", "warns"),
    [(GOLD, (32, 64), True), (GOLD, (32, 32), False), (PASSAGES, (32, 64), False)],
    ids=["whole documents", "one size of chunks", "quotes"],
)
def test_plan_warns_of_chunk_sizes_with_whole_document_gold(
    tmp_path: Path, gold: dict[str, object], sizes: tuple[int, int], warns: bool
) -> None:
    data = own_data(tmp_path, {"a": "It is here.", "b": "It is there."}, [{**own, **gold} for own in QUESTIONS])
    cells = [[*data, "language=en", f"chunk.size={size}", f"top_k={k}"] for size in sizes for k in (1, 2)]
    _, lines = planned_headline(plan_small(tmp_path, *cells).cells, store_of(tmp_path))
    assert any("the gold of 4 of 4 samples is whole documents" in line for line in lines) is warns


def test_context_tokens_follow_coverage_if_coverage_ranks() -> None:
    cells = [cell("a", f1=0.1, passage_coverage=0.5, context_tokens=9.0)]
    assert rank_cells(cells, "passage_coverage")[0] == ["passage_coverage", "context_tokens", "f1"]
    assert rank_cells(cells)[0] == ["f1", "passage_coverage", "context_tokens"]
