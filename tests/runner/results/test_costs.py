from dataclasses import replace

import pytest

from runner.results import CellResult
from runner.results.cell_choice import choose
from runner.results.costs import COSTS, known_costs


def cell(cell_id: str, n_context_tokens: float, seconds: float, **facts: object) -> CellResult:
    metrics = {"overall": {"context_tokens": {"value": n_context_tokens}}}
    return CellResult(
        cell_id,
        "OK",
        {},
        (),
        {},
        {},
        metrics=metrics,
        latency_s={"p50": seconds, "p95": 1.1 * seconds},
        counts={"ok": 10},
        **facts,
    )


def cheapest(cells: list[CellResult], *, weighs_tokens: bool = True) -> CellResult:
    known = [replace(own, ranking_metrics=("mrr",)) for own in cells]
    return choose([[own] for own in known], [True] * len(known), known, "f1" if weighs_tokens else "mrr", {}).cell


def test_cheapest_prefers_counted_model_tokens_over_passage_tokens() -> None:
    cells = [
        cell("short passages", 100, 1.0, tokens={"prompt": 5_000, "completion": 100}),
        cell("few tokens", 200, 1.0, tokens={"prompt": 3_000, "completion": 100}),
    ]
    assert cheapest(cells).cell_id == "few tokens"
    unknown = replace(cells[1], tokens={"prompt": None, "completion": 100})
    assert cheapest([cells[0], unknown]).cell_id == "short passages"


def test_known_costs_exist_in_every_cell() -> None:
    cells = [cell("a", 100, 1.0), cell("b", 100, 0.0)]
    assert [cost.name for cost in known_costs(cells)] == ["context_tokens", "seconds", "seconds_p95"]
    assert known_costs([*cells, CellResult("c", "OK", {}, (), {}, {})]) == []


@pytest.mark.parametrize("step", ["expander", "iterative", "reranker", "compressor", "reviser"])
def test_token_cost_includes_every_step_that_asks_about_questions(step: str) -> None:
    answers = {"prompt": 1_000, "completion": 100, "judge_prompt": 9_000, "refiner_prompt": 9_000}
    tokens = {**answers, f"{step}_prompt": 300, f"{step}_completion": 20}
    assert COSTS["tokens"].measure(cell("a", 1, 1.0, tokens=tokens)) == 142
    assert COSTS["tokens"].measure(cell("a", 1, 1.0, tokens={**tokens, f"{step}_prompt": None})) is None


def test_cost_excludes_the_judge() -> None:
    usage = {"answers": {"cost": 0.5}, "judge/accuracy": {"cost": 9.0}}
    assert COSTS["cost"].measure(cell("a", 1, 1.0, usage=usage)) == 50.0
    assert COSTS["cost"].measure(cell("a", 1, 1.0, usage={"answers": {"cost": None}})) is None


def test_latency_differences_of_milliseconds_do_not_decide() -> None:
    first, noise, slow = cell("first", 100, 0.09), cell("noise", 100, 0.001), cell("slow", 100, 0.5)
    assert cheapest([first, noise, slow]).cell_id == "first"
    assert cheapest([slow, first, noise]).cell_id == "first"


def test_failed_answers_make_no_cell_cheap() -> None:
    usage = {"answers": {"cost": 0.5}, "reranker": {"cost": 1.0}}
    whole = cell("whole", 1, 1.0, tokens={"prompt": 1_000, "completion": 0, "reranker_prompt": 200}, usage=usage)
    assert COSTS["tokens"].measure(replace(whole, tokens={**whole.tokens, "reviser_prompt": 100})) == 130.0
    half = replace(whole, cell_id="half", counts={"ok": 5, "error": 5}, tokens={**whole.tokens, "prompt": 500})
    assert [COSTS["tokens"].measure(own) for own in (whole, half)] == [120.0, 120.0]
    assert [COSTS["cost"].measure(own) for own in (whole, half)] == pytest.approx([150.0, 200.0])
    assert cheapest([whole, half]).cell_id == "whole"


@pytest.mark.parametrize("n_empty", [7, 10])
def test_empty_answers_make_no_cell_cheap(n_empty: int) -> None:
    whole = cell("whole", 1, 1.0, tokens={"prompt": 2_500, "completion": 0})
    silent = replace(
        cell("silent", 1, 0.1, tokens={"prompt": 1_000, "completion": 0}), counts={"ok": 10 - n_empty, "empty": n_empty}
    )
    assert cheapest([silent, whole]).cell_id == "whole"
    assert COSTS["tokens"].measure(silent) == 100.0, "what is paid is another matter"
    assert cheapest([silent, whole], weighs_tokens=False).cell_id == "silent", "by a metric that sees no answers"


def test_cell_is_chosen_although_all_answers_are_empty() -> None:
    silent = replace(cell("first", 1, 1.0, tokens={"prompt": 1_000, "completion": 0}), counts={"empty": 10})
    assert cheapest([silent, replace(silent, cell_id="second")]).cell_id == "first"


def test_closed_book_cell_has_zero_passage_tokens() -> None:
    closed = CellResult("closed", "OK", {"top_k": None}, (), {}, {}, latency_s={"p50": 1.0}, counts={"ok": 10})
    assert COSTS["context_tokens"].measure(closed) == 0.0
    assert [cost.name for cost in known_costs([closed, cell("a", 100, 1.0)])] == ["context_tokens", "seconds"]
    assert COSTS["context_tokens"].measure(replace(closed, axes={"top_k": 2})) is None
    assert COSTS["context_tokens"].measure(replace(closed, axes={"top_k": None, "pipeline": "built_in"})) == 0.0
    assert COSTS["context_tokens"].measure(replace(closed, axes={"top_k": None, "pipeline": "python"})) is None
