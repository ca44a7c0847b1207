"""The section of the page about how far to trust its numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.report.cells_section import CellRow, CellTable
from analysis.report.trust_section import _judges, whole_gold
from runner.results import CellResult
from tests.analysis import tiny_sweep
from tests.analysis.report.pages import report_on
from tests.analysis.tiny_sweep import CELLS


def checks_of(tmp_path: Path, notes: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the kind and the text by head."""
    cells = [replace(cell, facts={"dataset": {"name": "tiny", **notes}}) for cell in CELLS]
    report = report_on(tiny_sweep.write(tmp_path, cells))
    return {check.head: (check.kind, check.text) for check in report.checks}


@pytest.mark.parametrize(
    ("parsers", "heads"),
    [
        (("office", "combined"), {"Several parsers"}),
        (("office", "office"), {"Several data sets"}),
    ],
)
def test_several_parsers_are_not_reported_as_several_data_sets(
    tmp_path: Path, parsers: tuple[str, str], heads: set[str]
) -> None:
    cells = [
        replace(
            cell,
            axes={**cell.axes, "parser": parsers[n % 2]},
            facts={"dataset": {"name": "tiny", "key": f"{n % 2}" * 64}},
        )
        for n, cell in enumerate(CELLS)
    ]
    checks = report_on(tiny_sweep.write(tmp_path, cells)).checks
    assert {check.head for check in checks} & {"Several parsers", "Several data sets"} == heads


@pytest.mark.parametrize("without", [0, 3])
def test_report_warns_of_gold_that_is_not_in_the_corpus(tmp_path: Path, without: int) -> None:
    notes = {"n_gold_units_not_in_corpus": 4, "n_samples_without_gold_in_corpus": without}
    kind, text = checks_of(tmp_path, notes)["Gold that is not in the corpus"]
    assert (kind, "4 gold passages" in text, "3 samples" in text) == ("warning", True, bool(without))


def test_samples_without_gold_are_not_reported_as_missing_gold(tmp_path: Path) -> None:
    found = checks_of(tmp_path, {"n_gold_units_not_in_corpus": 0, "n_samples_without_gold_in_corpus": 5})
    assert "Gold that is not in the corpus" not in found
    assert found["Samples without gold"][0] == "note"
    assert "5 samples" in found["Samples without gold"][1]


def test_report_counts_no_answers_of_cells_without_a_generator(tmp_path: Path) -> None:
    cells = [replace(cell, facts={"counts": {"not_asked": 8}}) for cell in CELLS]
    heads = {check.head for check in report_on(tiny_sweep.write(tmp_path, cells)).checks}
    assert "No answer failed" not in heads
    assert "Failed or incomplete answers" not in heads


def test_report_warns_that_a_noise_rate_axis_is_no_choice(tmp_path: Path) -> None:
    cells = [replace(cell, axes={"retriever.noise_rate": n / 10}) for n, cell in enumerate(CELLS)]
    found = {check.head: check.kind for check in report_on(tiny_sweep.write(tmp_path, cells)).checks}
    assert found["retriever.noise_rate is a test condition"] == "warning"
    assert "retriever.noise_rate is a test condition" not in checks_of(tmp_path / "other", {})


def test_report_claims_no_complete_samples_if_every_cell_failed(tmp_path: Path) -> None:
    cells = [replace(cell, facts={"status": "FAILED", "reason": "the server is down"}) for cell in CELLS]
    report = report_on(tiny_sweep.write(tmp_path, cells))
    assert "No sample is excluded" not in {check.head for check in report.checks}
    assert "cells failed. The first reason: the server is down" in str(report.answer.sentence)


@pytest.mark.parametrize(
    ("target", "warns"), [("scripted.Scripted", True), ("rehearsal.model.Rehearsal", True), ("chat.Chat", False)]
)
def test_report_names_a_scripted_judge_as_a_stand_in(tmp_path: Path, target: str, warns: bool) -> None:
    judged = {"accuracy": {"n_judged": 8, "n_unparsable": 0}}
    facts = {"config": {"judge": {"llm": {"_target_": f"components.llms.{target}"}}}, "judges": judged}
    cells = [replace(cell, facts=facts) for cell in CELLS]
    heads = {check.head for check in report_on(tiny_sweep.write(tmp_path, cells)).checks}
    assert ("The judge is a stand-in" in heads) is warns


@pytest.mark.parametrize(("starts", "text"), [([None, None, 5], "2 of 3 samples with gold"), ([None, 5, 5], "")])
def test_report_warns_of_gold_that_is_mostly_whole_documents(starts: list[int | None], text: str) -> None:
    found = [*whole_gold([*([{"start": start}] for start in starts), []])]
    assert [(check.kind, check.text.startswith(text)) for check in found] == ([("warning", True)] if text else [])


@pytest.mark.parametrize(
    ("n_lost", "text"),
    [
        ((0, 0, 0, 1), "1 sample has no value of rouge_l (with a failed answer), in 1 of 4 cells."),
        ((2, 2, 2, 2), "2 samples have no value of rouge_l (with a failed answer), in all 4 cells."),
        ((1, 1, 0, 3), "Up to 3 samples have no value of rouge_l (with a failed answer), in 3 of 4 cells."),
    ],
)
def test_report_counts_the_excluded_samples_and_their_cells(tmp_path: Path, n_lost: tuple[int, ...], text: str) -> None:
    cells = [
        replace(cell, rouge_l=[None if i < n else (value or 0.5) for i, value in enumerate(cell.rouge_l)])
        for cell, n in zip(CELLS, n_lost, strict=True)
    ]
    found = {check.head: check.text for check in report_on(tiny_sweep.write(tmp_path, cells)).checks}
    assert found["Samples are excluded"].startswith(text)


def cut(n_cut: int) -> dict[str, Any]:
    return {
        "model": "m", "texts": "chunks", "n": 9, "n_cut": n_cut, "limit": 256, "longest": 300, "n_tokens": 900,
        "n_tokens_cut": 44,
    }  # fmt: skip


def test_report_names_the_cells_whose_texts_were_truncated(tmp_path: Path) -> None:
    cells = [
        replace(cell, facts={"cut_texts": (cut(n_cut),) if n_cut else ()})
        for cell, n_cut in zip(CELLS, (0, 4, 7, 7), strict=True)
    ]
    found = {check.head: check.text for check in report_on(tiny_sweep.write(tmp_path, cells)).checks}
    assert found["Texts longer than a model reads"] == (
        "m reads 256 tokens: 4 of 9 chunks were truncated, in the cell bm25 · 8; "
        "m reads 256 tokens: 7 of 9 chunks were truncated, in 2 cells, such as dense · 2."
    )


def test_report_names_the_cell_that_left_out_most_passages(tmp_path: Path) -> None:
    def written(*dropped: int) -> str:
        cells = [
            replace(
                cell, facts={"metrics": {"overall": {"context_tokens_dropped": {"value": n, "n": 8, "n_excluded": {}}}}}
            )
            for cell, n in zip(CELLS, dropped, strict=True)
        ]
        report = report_on(tiny_sweep.write(tmp_path / "-".join(map(str, dropped)), cells))
        return next(check.text for check in report.checks if check.head == "Prompts that were full")

    assert written(0, 5, 0, 0).startswith("In the cell bm25 · 8, passages were left out of prompts")
    assert written(0, 5, 0, 9).startswith("In 2 cells, such as dense · 8, passages were left out of prompts")


@pytest.mark.parametrize(("metric", "verdict"), [("context_tokens", "more tokens"), ("rouge_l", "worse")])
def test_larger_contexts_are_not_called_worse(metric: str, verdict: str) -> None:
    row = CellRow(("a",), "a", {}, 1.0, 1.0, 8, None, None, "worse")
    table = CellTable(metric, "overall", metric, metric == "rouge_l", 1, False, (row,), (), "", None)
    assert table.verdict_text(row) == verdict
    assert table.verdict_text(replace(row, verdict="may be the best")) == "may be the best"


@pytest.mark.parametrize(
    ("n_failed", "expected"),
    [
        (0, {"All replies of judges and steps could be read": "25 of accuracy."}),
        (25, {"Failed requests of judges and steps": "25 of 25 requests of accuracy. A judge then gives no score"}),
    ],
)
def test_report_calls_no_reply_readable_that_did_not_arrive(n_failed: int, expected: dict[str, str]) -> None:
    metrics = {"overall": {"accuracy": {"n": 25 - n_failed, "n_excluded": {"failed": n_failed}}}}
    judges = {"accuracy": {"n_judged": 25, "n_unparsable": 0, "reasons": {}, "commonest": ""}}
    cell = CellResult("a", "OK", {}, (), {}, {}, metrics=metrics, judges=judges)
    found = {check.head: check.text for check in _judges([cell])}
    assert found.keys() == expected.keys()
    assert all(text in found[head] for head, text in expected.items())
