"""Several sweeps as one, and subsets by their label. (How one sweep is loaded: tests/analysis/test_loaded.py.)"""

from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import DataError
from runner.results import CellResult
from runner.results.joined_samples import common_samples
from runner.results.loaded_sweep import find_metric, load_together
from tests.analysis import tiny_sweep

FIRST, SECOND, THIRD, FOURTH = tiny_sweep.CELLS


class TestSweeps:
    def test_cells_of_several_sweeps_are_compared_together(self, tmp_path: Path) -> None:
        folders = [tiny_sweep.write(tmp_path / "a", [FIRST]), tiny_sweep.write(tmp_path / "b", [SECOND, THIRD])]
        sweep = load_together(folders)
        assert [cell.cell_id for cell in sweep.cells] == [FIRST.cell_id, SECOND.cell_id, THIRD.cell_id]
        assert [sweep.folder_of(cell).parent.name for cell in sweep.cells] == ["a", "b", "b"]
        assert common_samples(sweep.cells, sweep.folder_of, "rouge_l", "overall").n == 8

    def test_cell_of_two_sweeps_is_loaded_once_from_the_successful_sweep(self, tmp_path: Path) -> None:
        failed = replace(FIRST, facts={"status": "FAILED", "reason": "no"})
        folders = [
            tiny_sweep.write(tmp_path / "a", [failed, SECOND]),
            tiny_sweep.write(tmp_path / "b", [FIRST, SECOND]),
        ]
        sweep = load_together(folders)
        assert [(cell.cell_id, cell.status) for cell in sweep.cells] == [(FIRST.cell_id, "OK"), (SECOND.cell_id, "OK")]
        assert [sweep.folder_of(cell).parent.name for cell in sweep.cells] == ["b", "a"]


class TestSubsetsByLabel:
    def cells(self, folder: Path, labels: dict[str, str]) -> tuple[CellResult, ...]:
        facts = {"dataset": {"name": "demo", "labels": labels}}
        return load_together([tiny_sweep.write(folder, [replace(FIRST, facts=facts)])]).cells

    @pytest.mark.parametrize("name", ["topic/funds", "topic/基金 Funds", "基金 funds"])
    def test_topic_is_found_by_slug_and_label(self, tmp_path: Path, name: str) -> None:
        cells = self.cells(tmp_path, {"funds": "基金 Funds"})
        assert find_metric(f"{name}:rouge_l", cells).subset == "topic/funds"

    def test_label_of_two_subsets_is_refused(self, tmp_path: Path) -> None:
        cells = self.cells(tmp_path, {"funds": "Other", "create": "Other"})
        with pytest.raises(DataError, match="several subsets are called 'Other': create, topic/funds"):
            find_metric("Other:rouge_l", cells)
