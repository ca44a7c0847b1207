"""Names of cells in a report."""

from dataclasses import replace
from itertools import product

from analysis.report.cell_names import CellNames
from tests.runner.output.traces.test_choice import cell

CELLS = [
    replace(cell(f"{retriever}{size}", 0.5), axes={"retriever": retriever, "chunk.size": size})
    for retriever, size in product(("bm25", "dense"), (32, 64, 128))
]


def test_equal_cells_of_a_grid_are_named_by_their_values() -> None:
    names = CellNames(tuple(CELLS))
    assert names.joined_name([CELLS[0], CELLS[1]]) == "bm25 \u00b7 32 or 64"
    assert names.joined_name(CELLS) == "bm25 or dense \u00b7 32 or 64 or 128"


def test_equal_cells_that_are_no_grid_are_named_one_by_one() -> None:
    names = CellNames(tuple(CELLS))
    assert names.joined_name([CELLS[0], CELLS[4]]) == "bm25 \u00b7 32 or dense \u00b7 64"
    assert names.joined_name(CELLS[:5]) == "bm25 \u00b7 32 or bm25 \u00b7 64 or bm25 \u00b7 128 or 2 more"
