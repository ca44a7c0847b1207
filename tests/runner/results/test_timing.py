"""The precision of the measured time of a cell."""

import pytest

from runner.results import CellResult
from runner.results.timing import latency_noise


def cell(
    cell_id: str, retriever: str, size: int, *, answers: tuple[float, float] = (0.0, 0.0), **batched: float
) -> CellResult:
    total = sum(batched.values())
    latency = {"batched": total, "p50": total + answers[0], "p95": total + answers[1]}
    axes = {"retriever": retriever, "chunk.size": size}
    return CellResult(cell_id, "OK", axes, (), {}, {}, latency_s=latency, batched_s=batched)


def test_empty_cell_list_has_no_timing_noise() -> None:
    assert latency_noise([]) == {}


def test_stage_timed_once_may_be_all_noise() -> None:
    noise = latency_noise([cell("a", "bm25", 64, search=0.3), cell("b", "dense", 64, search=0.5)])
    assert noise == {"a": 0.3, "b": 0.5}


def test_timing_noise_is_measured_by_cells_of_equal_components() -> None:
    cells = [cell("a", "bm25", 64, search=0.3), cell("b", "bm25", 128, search=0.4), cell("c", "dense", 64, search=0.5)]
    assert latency_noise(cells) == pytest.approx({"a": 0.1, "b": 0.1, "c": 0.5})


def test_shared_stage_counts_as_one_measurement() -> None:
    cells = [cell("a", "bm25", 64, search=0.3, context=0.01), cell("b", "bm25", 128, search=0.3, context=0.02)]
    cells.append(cell("c", "dense", 64, search=0.5, context=0.01))
    assert latency_noise(cells)["a"] == pytest.approx((0.3**2 + 0.01**2) ** 0.5)


def test_stage_shared_by_all_cells_adds_no_noise() -> None:
    noise = latency_noise([cell("a", "bm25", 64, queries=9.0), cell("b", "dense", 64, queries=9.0)])
    assert noise == {"a": 0.0, "b": 0.0}


def test_spread_of_answer_latencies_is_noise() -> None:
    (noise,) = latency_noise([cell("a", "bm25", 64, answers=(1.0, 2.645))]).values()
    assert noise == pytest.approx(1.0)


def test_answers_timed_together_may_be_all_noise() -> None:
    (noise,) = latency_noise([cell("a", "bm25", 64, answers=(7.0, 7.0))]).values()
    assert noise == 7.0


def test_results_of_an_earlier_version_use_the_total_latency_as_noise() -> None:
    cells = [CellResult(name, "OK", {}, (), {}, {}, latency_s={"batched": s, "p50": s, "p95": s})
             for name, s in (("a", 0.2), ("b", 0.5))]  # fmt: skip
    assert latency_noise(cells) == pytest.approx({"a": 0.3, "b": 0.3})
