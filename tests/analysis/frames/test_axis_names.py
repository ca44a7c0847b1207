"""An axis and a column of the samples may have the same name. The frame has both, as separate columns."""

from dataclasses import replace
from pathlib import Path

import analysis
from tests.analysis import tiny_sweep


def test_axis_named_like_a_requested_column_becomes_axis_name(tmp_path: Path) -> None:
    cells = [replace(cell, axes={"question": f"q{place}", "top_k": 2}) for place, cell in enumerate(tiny_sweep.CELLS)]
    sweep = analysis.load(tiny_sweep.write(tmp_path, cells))
    frame = sweep.samples(["question"])
    assert frame.columns.is_unique
    assert list(frame.columns) == ["cell_id", "axis/question", "id", "question"]
    assert frame["axis/question"][0] == "q0"
    assert frame["question"][0] == "What happened? s0"
    assert "question" in sweep.samples(["subset"]).columns
