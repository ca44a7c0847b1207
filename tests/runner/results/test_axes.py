from typing import Any, ClassVar

from runner.results.cell_axes import (
    common_base,
    complete_axes,
    coupling_notes,
    find_shown_axes,
    find_varying_axes,
    join_levels,
    varying_axes,
)
from runner.results.cell_result import CellResult


class TestVaryingAxes:
    def test_unused_axes_do_not_vary(self) -> None:
        axes = [{"retriever": "bm25", "embedder": None}, {"retriever": "dense", "embedder": "lsa"}]
        assert varying_axes(axes) == ["retriever"]

    def test_varying_axes_lists_one_of_two_axes_that_vary_together(self) -> None:
        keys = [{"dataset.key": "a"}, {"dataset.key": "b"}]
        assert varying_axes(keys) == ["dataset.key"]
        queries = [{"dataset.queries": name, **key} for name, key in zip(("original", "prepared"), keys, strict=True)]
        assert varying_axes(queries) == ["dataset.queries"]

    def test_axis_of_some_cells_does_not_replace_an_axis_of_all(self) -> None:
        """Embedders distinguish dense cells, but not the retrievers of the other cells."""
        axes = [
            {"retriever": "bm25", "embedder": None},
            {"retriever": "dense", "embedder": "lsa"},
            {"retriever": "dense", "embedder": "static"},
        ]
        assert varying_axes(axes) == ["retriever", "embedder"]

    def test_empty_cell_list_has_no_varying_axes(self) -> None:
        assert varying_axes([]) == []


class TestShownAxes:
    def cells(self, *axes: dict[str, Any], config: dict[str, Any] | None = None) -> list[CellResult]:
        """Cells whose overrides set `top_k` and `header`."""
        return [
            CellResult(str(n), "OK", row, ("top_k=2", "header=title"), config or {}, {}) for n, row in enumerate(axes)
        ]

    def test_axes_that_were_set_together_are_shown_with_a_note(self) -> None:
        coupled = [
            {"chunk.size": size, "top_k": k, "tokenizer": str(size)} for size, k in ((64, 16), (128, 8), (512, 2))
        ]
        cells = self.cells(*coupled)
        assert find_varying_axes(cells) == ["chunk.size"]
        assert find_shown_axes(cells) == ["chunk.size", "top_k"]
        (note,) = coupling_notes(cells)
        assert note == "top_k varies only along with chunk.size: a difference may come from either of them"

    def test_crossed_axes_have_no_note(self) -> None:
        crossed = [{"chunk.size": size, "top_k": k} for size in (64, 128) for k in (2, 8)]
        cells = self.cells(*crossed)
        assert find_shown_axes(cells) == find_varying_axes(cells) == ["chunk.size", "top_k"]
        assert coupling_notes(cells) == []

    def test_axis_of_one_sweep_has_its_configured_value_in_the_others(self) -> None:
        config = {"retriever": {"b": 0.75, "fusion": {"k": 60}}}
        first, second = complete_axes(
            self.cells({"retriever.b": 1, "header": "title"}, {"header": "none"}, config=config)
        )
        assert (first.axes["retriever.b"], second.axes["retriever.b"]) == (1.0, 0.75)
        assert (
            complete_axes(self.cells({"retriever.fusion": "x"}, {}, config=config))[1].axes["retriever.fusion"] is None
        )

    def test_axis_of_an_unused_component_has_no_value(self) -> None:
        config = {"embedder": {"n_dimensions": 256}}
        dense = {"retriever": "dense", "embedder": "lsa", "embedder.n_dimensions": 64}
        cells = complete_axes(self.cells(dense, {"retriever": "bm25", "embedder": None}, config=config))
        assert [cell.axes["embedder.n_dimensions"] for cell in cells] == [64, None]

    def test_equal_numbers_are_equal_values(self) -> None:
        cells = complete_axes(self.cells({"chunk.overlap": 0}, {"chunk.overlap": 0.0}, {"chunk.overlap": 0.3}))
        assert [repr(cell.axes["chunk.overlap"]) for cell in cells] == ["0.0", "0.0", "0.3"]


class TestJoinedLevels:
    def cells(self, *rows: tuple[str, int]) -> list[CellResult]:
        return [CellResult("a", "OK", {"retriever": name, "top_k": top_k}, (), {}, {}) for name, top_k in rows]

    def test_levels_of_all_combinations_are_joined(self) -> None:
        cells = self.cells(("bm25", 2), ("bm25", 8), ("dense", 2), ("dense", 8))
        assert [join_levels(cells, axis) for axis in ("retriever", "top_k")] == ["bm25, dense", "2, 8"]
        assert join_levels(cells[:2], "top_k", " or ") == "2 or 8"
        assert join_levels(cells[:1], "top_k") == "2"

    def test_levels_that_would_name_further_cells_are_not_joined(self) -> None:
        cells = self.cells(("bm25", 8), ("dense", 2), ("dense", 8))
        assert [join_levels(cells, axis) for axis in ("retriever", "top_k")] == ["bm25, ...", "8, ..."]

    def test_missing_level_is_a_dash(self) -> None:
        assert join_levels(self.cells(("bm25", 8)), "chunk.size") == "–"


class TestOneChangeAtATime:
    BASE: ClassVar[dict[str, Any]] = {"refiner": "none", "chunk": "sentence", "header": "none", "window": 0}

    def changed(self, **axes: Any) -> dict[str, Any]:
        return {**self.BASE, **axes}

    def test_common_base_has_the_values_most_cells_share(self) -> None:
        cells = [self.changed(), self.changed(refiner="tables"), self.changed(window=1), self.changed(header=None)]
        assert common_base(cells, list(self.BASE)) == self.BASE

    def test_cells_with_several_changes_have_no_common_base(self) -> None:
        cells = [self.changed(), self.changed(chunk="token"), self.changed(refiner="tables", window=1)]
        assert common_base(cells, list(self.BASE)) is None

    def test_few_axes_have_no_common_base(self) -> None:
        cells = [self.changed(), self.changed(chunk="token"), self.changed(refiner="tables"), self.changed(window=1)]
        assert common_base(cells, ["refiner", "chunk", "window"]) is None
