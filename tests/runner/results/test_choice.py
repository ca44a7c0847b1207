"""The choice of a cell, and its wording. Neither noise nor an axis that the metric does not see chooses a cell."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from runner.results import CellResult
from runner.results.cell_choice import Choice, choose
from runner.results.choice_wording import choice_text, samples_text


def cell(
    retriever: str, mean: float, *, top_k: int = 2, tokens: float = 200, covered: float = 0.5, **facts: Any
) -> CellResult:
    metrics = {
        "overall": {
            "f1": {"value": mean},
            "context_tokens": {"value": tokens},
            "passage_coverage": {"value": covered},
        }
    }
    axes = {"retriever": retriever, "top_k": top_k}
    facts = {"latency_s": {"p50": 1.0, "p95": 1.1}, "ranking_metrics": ("mrr",), "counts": {"ok": 10}} | facts
    return CellResult(f"{retriever}{top_k}", "OK", axes, (), {}, {}, metrics=metrics, **facts)


def chosen(
    tied: Sequence[Sequence[CellResult]], *worse: CellResult, metric: str = "f1", near: int | None = None
) -> Choice:
    compared = [*(cell for group in tied for cell in group), *worse]
    means = {cell.cell_id: cell.value("f1") or 0.0 for cell in compared}
    n_near = len(tied) if near is None else near
    return choose(tied, [place < n_near for place in range(len(tied))], compared, metric, means)


def choice_line(choice: Choice, metric: str = "f1") -> str:
    return str(choice_text(choice, metric, "all samples", lambda own: own.cell_id, larger_is_better=True))


BM25, DENSE = cell("bm25", 0.3125), cell("dense", 0.175, latency_s={"p50": 0.97, "p95": 0.99})
FEW = cell("few", 0.3, tokens=100)


def test_cells_equal_to_the_best_are_counted_separately() -> None:
    equal = cell("bm25", 0.3125, top_k=8, tokens=900)
    text = choice_line(chosen([[BM25, equal], [DENSE]], cell("none", 0.1)))
    assert "It does not differ significantly from 1 of the 2 other cells (1 more has the same f1)" in text


def test_small_token_saving_does_not_justify_a_lower_mean() -> None:
    assert chosen([[BM25], [DENSE]]).cell is BM25
    assert chosen([[BM25], [cell("dense", 0.175, tokens=170)]]).cell is BM25, "a seventh fewer tokens"
    assert chosen([[BM25], [cell("few", 0.3, tokens=100)]]).cell.cell_id == "few2", "half of the tokens"


def test_latency_difference_beyond_the_noise_decides() -> None:
    for p95, fastest in ((0.55, "fast2"), (3.0, "bm252")):
        fast = cell("fast", 0.3, latency_s={"p50": 0.5, "p95": p95})
        assert chosen([[BM25], [fast]]).cell.cell_id == fastest, p95


def test_latency_measured_once_does_not_decide() -> None:
    slow = cell("rerank", 0.32, latency_s={"batched": 9.0, "p50": 9.1, "p95": 9.2}, batched_s={"reranked_hits": 9.0})
    assert chosen([[slow], [BM25]]).cell is slow
    again = cell("rerank", 0.1, top_k=4, latency_s={"p50": 8.1, "p95": 8.2}, batched_s={"reranked_hits": 8.0})
    assert chosen([[slow], [BM25]], again).cell is BM25, "two such stages differ by a second"


def test_ranking_metric_prefers_the_equal_cell_with_most_gold_in_prompt() -> None:
    few, many = cell("bm25", 0.5, covered=0.6), cell("bm25", 0.5, top_k=8, tokens=800, covered=0.9)
    choice = chosen([[few, many]], cell("dense", 0.4), metric="mrr")
    assert (choice.cell, choice.equal, choice.least_covered) == (many, (few, many), few)
    assert chosen([[few, many]]).cell is few, "by a metric that sees prompts tokens decide"
    assert chosen([[few, many]]).least_covered is None
    assert choice_line(choice, "mrr") == (
        "Take bm258. It has the best mrr: 0.5000 over all samples, with 800 tokens of context per question (the cell "
        "bm252 has 200), and all other cells are significantly worse. bm252 has the same mrr for every sample, but "
        "brings 60% of the gold into the prompt; bm258 brings 90%."
    ).replace("all other cells are", "dense2 is")


@pytest.mark.parametrize(
    ("tied", "worse", "sentence"),
    [
        (
            [[cell("512", 0.41, tokens=3243)]],
            [cell("64", 0.3, tokens=206), cell("256", 0.35, tokens=1600)],
            "Take 5122. It has the best f1: 0.4100 over all samples, with 3,243 tokens of context per question (the "
            "cell 642 has 206), and all other cells are significantly worse.",
        ),
        (
            [[cell("512", 0.41, tokens=3243), cell("512", 0.41, top_k=8, tokens=3243)]],
            [cell("64", 0.3, tokens=206), cell("256", 0.35, tokens=1600)],
            "Take 5122. It has the best f1: 0.4100 over all samples, with 3,243 tokens of context per question (the "
            "cell 642 has 206), and all cells with other scores are significantly worse. 1 other cell has the same f1 "
            "for every sample.",
        ),
        (
            [[cell("64", 0.41, tokens=206)]],
            [cell("512", 0.3, tokens=3243)],
            "Take 642. It has the best f1: 0.4100 over all samples, with 206 tokens of context per question (the cell "
            "5122 has 3,243), and the other cell is significantly worse.",
        ),
        (
            [[BM25], [DENSE]],
            [],
            "Take bm252. It has the best f1: 0.3125 over all samples. It does not differ significantly from the other "
            "cell, which is not noticeably cheaper.",
        ),
        (
            [[BM25], [DENSE]],
            [cell("none", 0.1)],
            "Take bm252. It has the best f1: 0.3125 over all samples. It does not differ significantly from 1 of the "
            "2 other cells, which is not noticeably cheaper.",
        ),
        (
            [[BM25], [FEW]],
            [cell("none", 0.1)],
            "Take few2. It has the fewest tokens among the cells within one standard error of the best f1 over all "
            "samples (2 of 3 cells). Its f1 is 0.3000; the best mean is 0.3125 (bm252). It takes 100 instead of "
            "200 tokens of passages per prompt.",
        ),
        (
            [[BM25], [cell("fast", 0.3, latency_s={"p50": 0.5, "p95": 0.55})]],
            [],
            "Take fast2. It is the fastest among the cells within one standard error of the best f1 over all samples "
            "(2 of 2 cells). Its f1 is 0.3000; the best mean is 0.3125 (bm252). It takes 500 ms instead of 1 s "
            "per question.",
        ),
        (
            [[BM25, cell("bm25", 0.3125, top_k=3)]],
            [],
            "Take bm252. Both cells have the same f1 for every sample (0.3125).",
        ),
    ],
)
def test_choice_sentence_names_one_cell_and_the_reason(
    tied: list[list[CellResult]], worse: list[CellResult], sentence: str
) -> None:
    assert choice_line(chosen(tied, *worse)) == sentence


def test_choice_sentence_counts_the_samples_with_a_value() -> None:
    assert samples_text("all samples", 9, 9) == "all samples"
    assert samples_text("all samples", 300, 1109) == "300 of 1,109 samples"
    assert samples_text("finance", 2, 3) == "2 of 3 samples of finance"


def test_single_equal_cell_is_counted_in_the_choice_sentence() -> None:
    sentence = choice_line(chosen([[BM25, cell("bm25", 0.3125, top_k=4)]], cell("none", 0.1)))
    assert sentence == (
        "Take bm252. It has the best f1: 0.3125 over all samples, and none2 is significantly worse. 1 other cell has "
        "the same f1 for every sample."
    )


def test_choice_of_equal_cells_reports_the_tokens_of_the_cell_to_take() -> None:
    sentence = choice_line(chosen([[FEW, cell("many", 0.3, tokens=400)]]))
    assert sentence == (
        "Take few2. Both cells have the same f1 for every sample (0.3000). It takes 100 tokens of context per question "
        "(the cell many2 has 400)."
    )


def test_varying_conditions_have_no_recommended_cell() -> None:
    rates = [
        replace(own, axes={"retriever": "given", "retriever.noise_rate": rate})
        for own, rate in ((cell("easy", 1.0), 0), (cell("harder", 0.8), 0.4), (cell("hard", 0.2), 1))
    ]
    text = choice_line(chosen([[rates[0]]], *rates[1:]))
    assert text == (
        "Compare cells at one retriever.noise_rate, which sets how hard the test is. By f1 over all samples, easy2 "
        "has the best mean (1.0000) and hard2 the worst (0.2000)."
    )


def test_conditions_with_equal_values_share_the_best_mean() -> None:
    rates = [
        replace(own, axes={"retriever": "given", "retriever.noise_rate": rate})
        for own, rate in ((cell("easy", 1.0), 0), (cell("harder", 1.0), 0.4), (cell("hard", 0.2), 1))
    ]
    text = choice_line(chosen([rates[:2]], rates[2]))
    assert "easy2 and 1 other cell have the best mean (1.0000) and hard2 the worst (0.2000)." in text


def test_cheaper_cell_is_chosen_only_within_one_standard_error() -> None:
    cheap, large = cell("cheap", 0.71, tokens=48), cell("large", 1.0, tokens=769)
    tied = [[large, cell("small", 1.0, tokens=209)], [cheap]]
    assert chosen(tied, near=2).cell is cheap
    choice = chosen(tied, near=1)
    assert choice.cell.cell_id == "small2", "the cheapest of the cells with the best mean"
    assert choice_line(choice).startswith(
        "Take small2. It has the best f1: 1.0000 over all samples, with 209 tokens of context per question (the cell "
        "cheap2 has 48). It does not differ significantly from cheap2, which is more than one standard error worse."
    )


def test_choice_sentence_reports_that_no_near_cell_is_cheaper() -> None:
    text = choice_line(chosen([[BM25], [DENSE], [cell("cheap", 0.1, tokens=10)]], near=2))
    assert text.endswith(
        "It does not differ significantly from any of the 2 other cells. No cell within one standard error is "
        "noticeably cheaper."
    )
