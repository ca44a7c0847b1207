"""A sweep read back from its files: what `runner.run` and `analysis.load` return."""

from dataclasses import dataclass
from pathlib import Path

from runner import results
from runner.results import FAILED, RESULTS_DIR, CellResult


@dataclass(frozen=True, repr=False)
class LoadedSweep:
    """A sweep's folder, the results of its cells that ended, in the order of the sweep, and the ids of the others."""

    folder: Path
    cells: tuple[CellResult, ...]
    unfinished: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = f"{len(self.cells)} cells, {len(self.failed)} of them failed, {len(self.unfinished)} unfinished"
        return f"<{type(self).__name__} {self.folder}: {counts}>"

    @property
    def failed(self) -> tuple[CellResult, ...]:
        """Cells that ended with a failure; each has its `reason`."""
        return tuple(cell for cell in self.cells if cell.status == FAILED)

    def left_out(self, n_used: int) -> str:
        """A line on the cells that a table is not about; empty if it is about all of them."""
        n = len(self.cells) + len(self.unfinished) - n_used
        return f"left out: {n} cell(s) that failed, have no value or no result yet" if n else ""


def load(text: str | Path, results_dir: Path = RESULTS_DIR) -> LoadedSweep:
    """The sweep in the folder `text`, or of that id in `results_dir`. Raises DataError."""
    folder = results.find_sweep(str(text), results_dir)
    cells = tuple(results.read_cells(folder))
    ids = [cell["cell_id"] for cell in results.read_sweep(folder).cells]
    return LoadedSweep(folder, cells, tuple(sorted(set(ids) - {cell.cell_id for cell in cells})))
