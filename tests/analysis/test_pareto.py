from dataclasses import replace
from pathlib import Path

import pytest

from analysis.__main__ import main
from runner import results
from tests.analysis import tiny_sweep


def rows_of(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert main(["pareto", str(folder), "--metric", "rouge_l", *arguments]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_pareto_adds_tokens_of_prompts_and_completions(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sample takes 210 or 810 tokens. Tokens of a judge are not a cost of the pipeline."""
    rows = rows_of(sweep, capsys)
    assert rows[0] == "rouge_l of all samples against tokens per sample".split()
    assert rows[2] == ["a1a1a1a1", "bm25", "2", "210", "0.2286", "dominated", "by", "b3b3b3b3"]
    assert rows[3] == ["b3b3b3b3", "dense", "2", "210", "0.7000", "front"]
    assert rows[5][:5] == ["b4b4b4b4", "dense", "8", "810", "0.7000"]


def test_pareto_counts_the_tokens_of_an_asking_reranker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = {"prompt": 100, "completion": 20, "reranker_prompt": 32, "reranker_completion": 8, "judge_prompt": 1000}
    cells = [replace(cell, facts={"tokens": counted}) for cell in tiny_sweep.CELLS[:2]]
    rows = rows_of(tiny_sweep.write(tmp_path, cells), capsys)
    assert all("20" in row for row in rows[2:3])


def test_pareto_compares_cells_on_common_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The expensive cell has the higher mean over its own samples, because it fails on hard questions."""
    cheap = replace(tiny_sweep.CELLS[2], rouge_l=[0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.1])
    dear = replace(tiny_sweep.CELLS[3], rouge_l=[0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, None])
    rows = rows_of(tiny_sweep.write(tmp_path, [cheap, dear]), capsys)
    assert rows[2][-2:] == ["0.9000", "front"]
    assert rows[3][-4:] == ["0.8500", "dominated", "by", "b3b3b3b3"]
    assert "means over the 7 of 8 samples for which every cell has a value".split() in rows


def test_pareto_omits_a_cell_without_a_common_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = tiny_sweep.CELLS[:3]
    halves: list[float | None] = [0.5, 0.6, 0.7, 0.8, 0.9, None, None, None]
    other_half = replace(third, rouge_l=[None] * 5 + [0.9] * 3)
    cells = [replace(first, rouge_l=halves), replace(second, rouge_l=halves), other_half]
    rows = rows_of(tiny_sweep.write(tmp_path, cells), capsys)
    assert [row[0] for row in rows[2:4]] == ["a1a1a1a1", "a2a2a2a2"]
    assert "no sample in common with the others, not compared: b3b3b3b3".split() in rows


def test_pareto_front_contains_the_cheapest_and_the_best_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [tiny_sweep.CELLS[0], tiny_sweep.CELLS[3]]
    rows = rows_of(tiny_sweep.write(tmp_path, cells), capsys)
    assert [row[-1] for row in rows[2:4]] == ["front", "front"]


def test_pareto_front_contains_the_lowest_value_of_a_minimized_metric(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pareto", str(sweep), "--metric", "hallucination"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[2] == ["a1a1a1a1", "bm25", "2", "210", "0.2286", "front"]


def test_pareto_shows_many_dominated_cells_only_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best, dominated = tiny_sweep.CELLS[2], tiny_sweep.CELLS[0]
    many = [
        replace(dominated, cell_id=f"d{place:011d}", axes={"retriever": f"r{place}", "top_k": 8}) for place in range(21)
    ]
    folder = tiny_sweep.write(tmp_path, [best, *many])
    rows = rows_of(folder, capsys)
    assert [row[0] for row in rows[2:] if row[-1:] == ["front"]] == ["b3b3b3b3"]
    assert "21 dominated cells are not shown; --all shows them".split() in rows
    assert not any("by" in row for row in rows)
    for arguments in (["--all"], ["--format", "csv"]):
        assert sum("dominated by b3b3b3b3" in " ".join(row) for row in rows_of(folder, capsys, *arguments)) == 21


def test_pareto_cost_is_tokens_times_prices(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(sweep, capsys, "--against", "cost", "--price-prompt", "0.5", "--price-completion", "2")
    assert rows[0][-4:] == ["cost", "per", "1,000", "samples"]
    assert float(rows[2][3]) == pytest.approx((200 * 0.5 + 10 * 2) / 1_000_000 * 1_000)


def test_pareto_takes_the_cost_from_price_lists_without_given_prices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cost of judges is not part of the pipeline. A cell of unknown cost does not count as cheap."""
    known = {"answers": {"cost": 0.04}, "reranker": {"cost": 0.01}, "judge/accuracy": {"cost": 9.0}}
    unknown = known | {"reranker": {"cost": None}}
    cells = [
        replace(cell, facts={"usage": usage}) for cell, usage in zip(tiny_sweep.CELLS, (known, unknown), strict=False)
    ]
    rows = rows_of(tiny_sweep.write(tmp_path, cells), capsys, "--against", "cost")
    assert float(rows[2][3]) == pytest.approx(0.05 / 200 * 1000)
    assert rows[-1] == "not compared, because its cost per 1,000 samples are unknown: a2a2a2a2".split()


@pytest.mark.parametrize(("against", "seconds"), [("seconds", "2"), ("seconds_p95", "7"), ("one_time_seconds", "30")])
def test_pareto_separates_one_time_seconds_from_seconds_per_question(
    sweep: Path, capsys: pytest.CaptureFixture[str], against: str, seconds: str
) -> None:
    assert {row[3] for row in rows_of(sweep, capsys, "--against", against)[2:6]} == {seconds}


def test_pareto_cost_requires_both_prices(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--against", "cost", "--price-prompt", "1"]
    assert main(["pareto", str(sweep), "--metric", "rouge_l", *arguments]) == 2
    assert "missing: --price-completion" in capsys.readouterr().err


def test_pareto_compares_with_seconds_if_no_tokens_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uncounted = [replace(cell, facts={"tokens": {"prompt": 0, "completion": 0}}) for cell in tiny_sweep.CELLS]
    assert main(["pareto", str(tiny_sweep.write(tmp_path, uncounted)), "--metric", "rouge_l"]) == 0
    assert "against median seconds per question" in capsys.readouterr().out


def test_pareto_suggests_seconds_if_tokens_are_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uncounted = [replace(cell, facts={"tokens": {"prompt": 0, "completion": 0}}) for cell in tiny_sweep.CELLS]
    arguments = ["--metric", "rouge_l", "--against", "tokens"]
    assert main(["pareto", str(tiny_sweep.write(tmp_path, uncounted)), *arguments]) == 2
    message = (
        "tokens per sample are 0 or unknown in 4 cells with a value. Choose another cost, such as --against seconds."
    )
    assert message in capsys.readouterr().err


def test_pareto_omits_a_cell_with_unknown_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = tiny_sweep.CELLS
    unknown = replace(first, facts={"tokens": {"prompt": None, "completion": 8}})
    rows = rows_of(tiny_sweep.write(tmp_path, [unknown, *others]), capsys)
    assert "a1a1a1a1" not in {row[0] for row in rows[2:5]}
    assert rows[-1] == "not compared, because its tokens per sample are unknown: a1a1a1a1".split()


def test_pareto_and_effects_report_that_all_cells_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = [replace(cell, facts={"status": "FAILED", "reason": "no"}) for cell in tiny_sweep.CELLS]
    folder = str(tiny_sweep.write(tmp_path, failed))
    for command in ("pareto", "effects"):
        assert main([command, folder, "--metric", "rouge_l"]) == 2
        assert f": all {len(failed)} cells failed. The first reason: no" in capsys.readouterr().err


@pytest.mark.parametrize("price", ["nan", "-1", "inf", "x"])
def test_pareto_rejects_an_invalid_price(sweep: Path, price: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["pareto", str(sweep), "--metric", "rouge_l", "--price-prompt", price])
    assert f"got {price}, expected at least 0" in capsys.readouterr().err


def test_pareto_counts_failed_cells_as_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = tiny_sweep.CELLS
    failed = replace(first, facts={"status": "FAILED", "reason": "no"})
    rows = rows_of(tiny_sweep.write(tmp_path, [failed, *others]), capsys)
    assert rows[-1] == "left out: 1 cell that failed, or have no value or no result yet".split()
    assert len(rows) == 2 + 3 + 3


def test_pareto_uses_passage_tokens_without_a_language_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tiny_sweep.write(tmp_path, tiny_sweep.CELLS[:2])
    for cell, n_tokens in zip(tiny_sweep.CELLS, (512.0, 128.0), strict=False):
        result = results.read_cell(folder / cell.cell_id)
        metrics = {
            **result.metrics,
            "overall": {**result.metrics["overall"], "context_tokens": {"value": n_tokens, "n": 2, "n_excluded": {}}},
        }
        results.write_cell(folder, replace(result, metrics=metrics, tokens={}), {})
    rows = rows_of(folder, capsys, "--against", "context_tokens")
    assert rows[0] == "rouge_l of all samples against tokens of passages per prompt".split()
    assert [(row[0], row[2]) for row in rows[2:4]] == [("a2a2a2a2", "128"), ("a1a1a1a1", "512")]
