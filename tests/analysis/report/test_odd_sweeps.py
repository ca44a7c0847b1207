"""Sweeps with too little for a full report: the report says so, and never fails."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from runner import results
from runner.output.standings import find_standings, first_row_line
from tests.analysis import tiny_sweep
from tests.analysis.decision.planted import write
from tests.analysis.report.pages import rendered, report_on
from tests.analysis.tiny_sweep import CELLS, TinyCell

NASTY = "</script><script>alert(1)</script> \"'`|\u202e\u200f\x1b[31m **bold** [x](javascript:1) &amp;"


def failed(cells: Sequence[TinyCell], reason: str = "no model") -> list[TinyCell]:
    return [replace(cell, facts={"status": "FAILED", "reason": reason, "metrics": {}}) for cell in cells]


def test_report_accepts_a_sweep_of_one_cell(tmp_path: Path) -> None:
    page, text, _ = rendered(report_on(tiny_sweep.write(tmp_path, CELLS[2:3])))
    assert "b3b3b3b3 has 0.7250 by rouge_l of all samples. A comparison needs two cells with a value." in page.text
    assert "b3b3b3b3 | 0.7250" in text


def test_report_explains_that_every_cell_failed(tmp_path: Path) -> None:
    report = report_on(tiny_sweep.write(tmp_path, failed(CELLS)))
    page, text, _ = rendered(report)
    assert (report.answer.take, report.metric) == ("", "")
    assert "No cell can be recommended: 4 of 4 cells failed . The first reason: no model" in page.text
    assert "Cells that failed" in page.text
    assert "no model" in text
    for words in (page.text, text):
        assert "No table, because all 4 cells failed: the reasons are below." in words
        assert "A comparison needs two cells" not in words
        assert "No cell succeeded: the section of all cells has the reasons." in words


def test_report_warns_of_some_failed_cells(tmp_path: Path) -> None:
    page, _, _ = rendered(report_on(tiny_sweep.write(tmp_path, [*CELLS[:3], *failed(CELLS[3:])])))
    assert "Cells failed (warning) 1 of 4 cells" in page.text


def test_report_of_a_single_successful_cell_has_no_comparison(tmp_path: Path) -> None:
    _, text, _ = rendered(report_on(tiny_sweep.write(tmp_path, [*failed(CELLS[:3]), CELLS[3]])))
    assert "3 of 4 cells failed. A comparison needs two cells with a value." in text


def test_report_recommends_the_only_finisher_of_a_race(tmp_path: Path) -> None:
    race = {"metric": "rouge_l", "n": 4, "n_samples": 8, "confidence": 0.95, "margin": 0.0, "behind": 0.1}
    facts = {"status": "STOPPED", "reason": "stopped", "metrics": {}, "race": race}
    _, text, _ = rendered(
        report_on(tiny_sweep.write(tmp_path, [*(replace(c, facts=facts) for c in CELLS[:2]), CELLS[2]]))
    )
    sentence = text.replace("**", "").replace("\\", "")
    assert "It has 0.7250 by rouge_l over all samples. It won the race: with 95% confidence, none of the 2" in sentence
    assert "A comparison needs two cells" not in sentence.partition("## All cells")[0]


def test_report_of_a_single_sample_group_distinguishes_no_cells(tmp_path: Path) -> None:
    folder = tiny_sweep.write(tmp_path, [replace(cell, documents=[["d1"]] * 8) for cell in CELLS[:3]])
    page, text, _ = rendered(report_on(folder))
    few = "too few groups of samples (1)"
    for words in (page.text, text.replace("**", "")):
        assert f"This does not show that it is better: there are {few} to tell" in words
        assert "does not differ significantly" not in words
    assert f"May be the best: **cannot tell** ({few})" in text
    assert "dataset.groups=source and dataset.groups=none assume less" in text
    assert "| scenario |" not in text
    cells = results.load(str(folder)).cells
    assert first_row_line(find_standings(cells, folder, "rouge_l")) == (
        f"First row: the cell to take, by its mean alone: {few} to tell. See docs/metrics.md, Groups of samples"
    )


def test_report_lists_unfinished_cells(tmp_path: Path) -> None:
    folder = tiny_sweep.write(tmp_path)
    tiny_sweep.unfinish(folder, CELLS[0].cell_id)
    page, text, _ = rendered(report_on(folder))
    assert "1 cell without a result yet" in page.text
    assert f"No result yet: {CELLS[0].cell_id}" in text


def test_report_of_a_sweep_without_results_counts_unfinished_cells(tmp_path: Path) -> None:
    folder = tiny_sweep.write(tmp_path)
    tiny_sweep.unfinish(folder, *(cell.cell_id for cell in CELLS))
    page, _, _ = rendered(report_on(folder))
    assert "No cell of this sweep has a result yet: 4 cells to go." in page.text


def test_report_names_cells_with_equal_values(tmp_path: Path) -> None:
    same = [replace(cell, rouge_l=CELLS[0].rouge_l) for cell in CELLS[:2]]
    page, _, _ = rendered(report_on(tiny_sweep.write(tmp_path, same)))
    assert "Both cells have the same rouge_l for every sample" in page.text


def test_cell_named_by_its_change_is_also_named_in_full(tmp_path: Path) -> None:
    base = {"retriever": "bm25", "top_k": 2, "chunk.size": 64, "reranker": "none"}
    changed = [
        base,
        *({**base, axis: value} for axis, value in {"top_k": 8, "chunk.size": 128, "reranker": "x"}.items()),
    ]
    changed.append({**base, "retriever": "dense"})
    values = [0.1, 0.2, 0.2, 0.2, 0.8]
    cells = [
        TinyCell(f"{place:012x}", axes, [value + 0.01 * sample for sample in range(8)])
        for place, (axes, value) in enumerate(zip(changed, values, strict=True))
    ]
    in_full = "All values of the cell to take: retriever=dense, top_k=2, chunk.size=64, reranker=none"
    page, text, _ = rendered(report_on(tiny_sweep.write(tmp_path / "base", cells)))
    assert in_full in page.text
    assert in_full in text.replace("\\", "")
    page, text, _ = rendered(report_on(tiny_sweep.write(tmp_path / "grid")))
    assert "All values of" not in page.text + text


def test_report_of_hundreds_of_cells_is_cut_with_a_note(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    cells = [
        TinyCell(f"{place:012x}", {"size": place}, random.uniform(0, 1, 8).round(3).tolist()) for place in range(110)
    ]
    report = report_on(tiny_sweep.write(tmp_path, cells), "rouge_l")
    page, text, _ = rendered(report)
    assert len(report.cells.tables[0].rows) == 110
    assert page.text.count("The first 100 of 110 rows") == 2
    assert "The first 100 of 110 rows" in text
    assert "only rouge_l of all samples is tested here" in page.text
    assert "More than 30 values of size" in page.text


def test_report_escapes_hostile_text(tmp_path: Path) -> None:
    cells = [replace(CELLS[0], axes={"retriever": NASTY, "top_k": 2}), *failed(CELLS[1:2], NASTY), *CELLS[2:]]
    folder = tiny_sweep.write(tmp_path, cells)
    described = results.read_sweep(folder)
    results.write_sweep(folder, replace(described, command=NASTY, sweep_id=NASTY))
    page, text, _ = rendered(report_on(folder))
    assert {tag for tag, _, _ in page.attributes} & {"x", "iframe", "img"} == set()
    assert page.text.count("<script>alert(1)</script>") >= 4
    assert "\u202e" not in page.text
    assert "\\u202e" in page.text
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert not [line for line in text.splitlines() if "<script>" in line and not line.startswith("    ")]


def test_report_omits_an_axis_without_effect_from_interactions(tmp_path: Path) -> None:
    folder = write(tmp_path, {"size": ["64", "256"], "k": [2, 8]}, {"size": {"256": 0.2}}, same=("k",))
    page, _, _ = rendered(report_on(folder))
    assert "gains the same" not in page.text
    assert "Axes that do not affect rouge_l k: cells that differ in nothing else have equal values." in page.text
    assert "no cell is significantly worse than the best" not in page.text
    assert "A row with several values of an axis stands for cells with the same value for every sample." in page.text
    assert "256 · 2 or 8" in page.text


def test_report_names_levels_that_could_not_be_compared(tmp_path: Path) -> None:
    """Sizes with equal tokens in the prompt: 64 has a k that no other size has, and 256 shares one with 128."""
    random = np.random.default_rng(0)
    settings = [(128, 8), (64, 16), (256, 4), (128, 4)]
    cells = [
        replace(
            CELLS[2],
            cell_id=f"{place:012x}",
            axes={"size": size, "k": k},
            rouge_l=np.clip(0.3 + 0.1 * place + random.normal(0, 0.05, 60), 0, 1).tolist(),
            ids=[f"s{i}" for i in range(60)],
            subsets=["create"] * 60,
            documents=[[f"d{i}"] for i in range(60)],
            topics=[None] * 60,
            tasks=[None] * 60,
            measured=("overall", "create"),
        )
        for place, (size, k) in enumerate(settings)
    ]
    page, text, _ = rendered(report_on(tiny_sweep.write(tmp_path, cells)))
    for words in (page.text, text):
        assert "not compared: 64" in words
        assert "not compared: 16" in words  # of k
    assert "- size: not comparable with the others: 64" in text
    assert "Not comparable with the others: 64." in page.text
