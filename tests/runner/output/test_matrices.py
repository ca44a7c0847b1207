import csv
import io
import re
from itertools import pairwise
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest

from runner.output.heatmap import _viridis, draw
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
LABELS = {"funds": "Funds", "stocks": "股票", "extractive": "Extractive", "contrast": "contrast"}


def parsed(content: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(content.decode("utf-8"))


def size_of(content: bytes) -> tuple[int, int]:
    root = parsed(content)
    return int(root.attrib["width"]), int(root.attrib["height"])


def texts_of(content: bytes) -> list[str]:
    return [element.text or "" for element in parsed(content).iter() if element.tag.endswith("text")]


class TestFiles:
    def test_matrix_files_are_a_table_per_metric_and_the_requested_pictures(self) -> None:
        scores = {subset: {**values, "ndcg@10": entry(0.5)} for subset, values in FINANCE.items()}
        assert set(matrix_files(scores, LABELS, ["f1"])) == {
            "matrix_f1.csv", "matrix_f1.svg", "matrix_ndcg@10.csv",
        }  # fmt: skip

    def test_matrix_table_follows_the_order_of_the_labels(self) -> None:
        content = matrix_files(FINANCE, LABELS, ["f1"])["matrix_f1.csv"].decode()
        assert list(csv.reader(io.StringIO(content))) == [
            ["topic", "Extractive", "contrast", "All", "Extractive pooled", "contrast pooled"],
            ["Funds", "1.0", "", "0.75", "", ""],
            ["股票", "0.25", "", "0.25", "", ""],
            ["All", repr(1 / 3), "0.1", "", "", ""],
        ]

    def test_matrix_table_escapes_labels_that_are_formulas(self) -> None:
        labels = {"funds": "=cmd|' /C calc'!A0", "stocks": "a, b\nc\rd\x1b", "extractive": "+1"}
        content = matrix_files(FINANCE, labels, [])["matrix_f1.csv"].decode()
        header, *rows = csv.reader(io.StringIO(content))
        assert header[1:3] == ["contrast", "'+1"]
        assert [row[0] for row in rows] == ["'=cmd|' /C calc'!A0", "a, b\nc\\rd\\x1b", "All"]

    def test_pooled_values_are_shown_next_to_raw_values(self) -> None:
        pooled = {"pooled": 0.8125, "pooled_low": 0.5, "pooled_high": 0.9, **entry(1.0)}
        files = matrix_files({**FINANCE, "matrix/funds/extractive": {"f1": pooled}}, LABELS, ["f1"])
        rows = list(csv.reader(io.StringIO(files["matrix_f1.csv"].decode())))
        assert rows[1] == ["Funds", "1.0", "", "0.75", "0.8125", ""]
        texts = texts_of(files["matrix_f1.svg"])
        assert texts[texts.index("1.000") : texts.index("1.000") + 3] == ["1.000", "n=1", "0.812 [0.500, 0.900]"]
        assert texts[-1] == "Third line: pooled with topic and task [95% interval]"

    def test_matrix_picture_shows_names_labels_values_and_numbers(self) -> None:
        texts = texts_of(matrix_files(FINANCE, LABELS, ["f1"])["matrix_f1.svg"])
        assert texts[:7] == ["f1", "Extractive", "contrast", "All", "Funds", "股票", "All"]
        assert texts[7:] == [
            "1.000", "n=1", "–", "n=1", "0.750", "n=1", "0.250", "n=1", "0.250", "n=1", "0.333", "n=1", "0.100", "n=1",
        ]  # fmt: skip

    @pytest.mark.parametrize("missing", ["topic/", "task/"])
    def test_matrix_files_require_topics_and_tasks(self, missing: str) -> None:
        scores = {subset: values for subset, values in FINANCE.items() if not subset.startswith(missing)}
        assert matrix_files(scores, LABELS, ["f1"]) == {}

    def test_oversized_matrix_has_a_table_and_explains_the_missing_picture(self) -> None:
        """A picture of 400 x 400 fields took gigabytes and failed the cell."""
        n = 400
        names = [f"n{i:03}" for i in range(n)]
        entries = {"f1": entry(0.5)}
        scores = dict.fromkeys((f"matrix/{topic}/{task}" for topic in names for task in names), entries)
        scores |= dict.fromkeys(
            ["overall", *(f"{axis}/{name}" for axis in ("topic", "task") for name in names)], entries
        )
        files = matrix_files(scores, {}, ["f1"])
        rows = files["matrix_f1.csv"].decode().splitlines()
        assert len(rows) == n + 2
        assert rows[n].split(",")[: n + 2] == [names[-1], *["0.5"] * (n + 1)]
        assert texts_of(files["matrix_f1.svg"]) == [
            "f1",
            "400 topics x 400 tasks are too many fields to draw (at most 10,000).",
            "All values are in matrix_f1.csv.",
        ]
        assert len(files["matrix_f1.svg"]) < 1000


class TestPicture:
    CELLS: ClassVar = {
        ("funds", "extractive"): entry(0.5),
        ("funds", "all"): entry(0.5),
        ("all", "extractive"): entry(0.5),
    }

    def picture(self, cells: Any = CELLS, topics: Any = ("funds",), labels: Any = LABELS) -> bytes:
        return draw("f1", cells, topics, ["extractive"], labels)

    def test_picture_height_grows_with_the_rows(self) -> None:
        topics = [f"topic_{i}" for i in range(16)]
        assert size_of(self.picture(topics=topics))[1] > 2 * size_of(self.picture())[1]

    def test_equal_values_give_the_same_picture(self) -> None:
        assert self.picture() == self.picture()

    def test_picture_changes_with_the_values(self) -> None:
        cells = {**self.CELLS, ("funds", "extractive"): entry(0.75)}
        assert self.picture(cells) != self.picture()

    def test_matrix_colours_follow_a_given_scale(self) -> None:
        first, second = (
            draw("f1", dict.fromkeys(self.CELLS, entry(value)), ["funds"], ["extractive"], LABELS, scale=(0.0, 1.0))
            for value in (0.0, 1.0)
        )
        colours = [set(re.findall(rb'fill="(#[0-9a-f]{6})"', picture)) for picture in (first, second)]
        assert len(colours[0]) == len(colours[1]) == 1
        assert colours[0] != colours[1]

    def test_matrix_picture_escapes_names_and_labels(self) -> None:
        """Names and labels come from data, and must not become markup of the page that shows the picture."""
        bad = "</text><script>alert(1)</script>&\x00\ud800"
        content = draw(bad, self.CELLS, ["funds"], ["extractive"], {"funds": bad, "extractive": "<b>"})
        assert b"<script" not in content
        shown = "</text><script>alert(1)</script>&\ufffd\ufffd"
        assert texts_of(content)[:4] == [shown, "<b>", "All", shown]

    def test_picture_has_no_external_references(self) -> None:
        content = self.picture().decode()
        assert content.count("http") == content.count('xmlns="http://www.w3.org/2000/svg"') == 1
        assert "url(" not in content

    def test_matrix_headers_break_into_lines_without_spaces(self) -> None:
        label = {"extractive": "多轮对话与长文本问答任务", "funds": "Funds"}
        lines = texts_of(self.picture(labels=label))[1:3]
        assert lines == ["问答任务", "多轮对话与长文本"], "the last line is drawn first, right above the cells"

    def test_matrix_colours_run_from_the_lowest_to_the_highest_value(self) -> None:
        topics = [f"topic_{i}" for i in range(5)]
        cells = {(topic, "extractive"): entry(i / 4) for i, topic in enumerate(topics)}
        fills = [e.attrib["fill"] for e in parsed(self.picture(cells, topics)).iter() if e.tag.endswith("rect")][1:]
        assert (fills[0], fills[-1]) == ("#440154", "#fde724")
        lightness = [sum(bytes.fromhex(fill[1:])) for fill in fills]
        assert all(low < high for low, high in pairwise(lightness))

    def test_matrix_colours_equal_matplotlib(self) -> None:
        colours = pytest.importorskip("matplotlib").colormaps["viridis"]
        for i, colour in enumerate(_viridis()):
            theirs = [int(255 * channel) for channel in colours(i)[:3]]
            assert all(abs(a - b) <= 1 for a, b in zip(bytes.fromhex(colour[1:]), theirs, strict=True))

    @pytest.mark.parametrize("value", [None, 0.0, 512.4], ids=str)
    def test_picture_draws_missing_zero_and_large_values(self, value: float | None) -> None:
        shown = {None: "–", 0.0: "0.000", 512.4: "512"}[value]
        assert texts_of(self.picture(dict.fromkeys(self.CELLS, entry(value)))).count(shown) == 3
