import csv
import io
import struct
from typing import Any, ClassVar

import pytest

from runner.output.heatmap import draw
from runner.output.matrices import matrix_files


def entry(value: float | None, n: int = 1) -> dict[str, Any]:
    return {"value": value, "n": n, "n_excluded": {}, "ci_low": value, "ci_high": value}


def metrics(**values: float | None) -> dict[str, dict[str, Any]]:
    """`{subset: {"f1": ...}}` from subsets with `__` for the slashes."""
    return {name.replace("__", "/"): {"f1": entry(value)} for name, value in values.items()}


FINANCE = metrics(
    overall=0.5, topic__stocks=0.25, topic__funds=0.75, task__contrast=0.1, task__extractive=1 / 3,
    matrix__funds__extractive=1.0, matrix__funds__contrast=None, matrix__stocks__extractive=0.25,
)  # fmt: skip
LABELS = {"funds": "Funds", "stocks": "股票", "extractive": "Extractive"}


def size_of_png(content: bytes) -> tuple[int, int]:
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content[-8:-4] == b"IEND"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


class TestFiles:
    def test_are_a_table_and_a_picture_per_metric(self) -> None:
        scores = {subset: {**values, "ndcg@10": entry(0.5)} for subset, values in FINANCE.items()}
        assert set(matrix_files(scores, LABELS)) == {
            "matrix_f1.csv", "matrix_f1.svg", "matrix_ndcg@10.csv", "matrix_ndcg@10.svg",
        }  # fmt: skip

    def test_the_table_has_topics_tasks_and_averages_in_the_order_of_the_labels(self) -> None:
        content = matrix_files(FINANCE, LABELS)["matrix_f1.csv"].decode()
        assert list(csv.reader(io.StringIO(content))) == [
            ["topic", "extractive", "contrast", "all"],
            ["funds", "1.0", "", "0.75"],
            ["stocks", "0.25", "", "0.25"],
            ["all", repr(1 / 3), "0.1", ""],
        ]

    def test_the_picture_is_whole(self) -> None:
        width, height = size_of_png(matrix_files(FINANCE, LABELS)["matrix_f1.svg"])
        assert width > 300
        assert height > 100

    @pytest.mark.parametrize("missing", ["topic/", "task/"])
    def test_there_are_none_without_topics_and_tasks(self, missing: str) -> None:
        scores = {subset: values for subset, values in FINANCE.items() if not subset.startswith(missing)}
        assert matrix_files(scores, LABELS) == {}


class TestPicture:
    CELLS: ClassVar = {
        ("funds", "extractive"): entry(0.5),
        ("funds", "all"): entry(0.5),
        ("all", "extractive"): entry(0.5),
    }

    def picture(self, cells: Any = CELLS, topics: Any = ("funds",), labels: Any = LABELS) -> bytes:
        return draw("f1", cells, topics, ["extractive"], labels)

    def test_grows_with_its_rows(self) -> None:
        topics = [f"topic_{i}" for i in range(16)]
        assert size_of_png(self.picture(topics=topics))[1] > 2 * size_of_png(self.picture())[1]

    def test_is_the_same_every_time(self) -> None:
        assert self.picture() == self.picture()

    def test_depends_on_the_values(self) -> None:
        cells = {**self.CELLS, ("funds", "extractive"): entry(0.75)}
        assert self.picture(cells) != self.picture()

    def test_shows_the_slug_for_labels_that_the_font_lacks(self) -> None:
        """A missing glyph would be a warning, and warnings are errors here."""
        assert self.picture(labels={"funds": "基金"}) == self.picture(labels={})

    @pytest.mark.parametrize("value", [None, 0.0, 512.4], ids=str)
    def test_draws_any_value(self, value: float | None) -> None:
        assert min(size_of_png(self.picture(dict.fromkeys(self.CELLS, entry(value))))) > 0
