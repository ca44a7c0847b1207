"""Positions of the points of a line plot, and texts of its labels."""

from xml.etree import ElementTree

import pytest

from analysis.charts.line_plot import LinePoint, PlotLine, line_plot
from tests.analysis.charts.test_charts import NASTY, SVG, parsed, texts


def plotted(*levels: str | float, label: str = "") -> ElementTree.Element:
    points = [LinePoint(level, place / 10, place / 10 - 0.05, place / 10 + 0.05) for place, level in enumerate(levels)]
    return parsed(line_plot([PlotLine(label, points)], "an axis", "a metric", notes=["a note"]))


def xs(picture: ElementTree.Element) -> list[float]:
    return [float(dot.attrib["cx"]) for dot in picture.iter(f"{SVG}circle")]


@pytest.mark.parametrize(
    ("levels", "are_even"),
    [
        ((64.0, 128.0, 256.0), True),  # doubled each time: a logarithmic scale
        ((1.0, 2.0, 3.0), True),
        ((2.0, 4.0, 5.0), False),
        ((0.0, 0.1, 0.7), False),
        (("64", "128", "1000"), True),  # no numbers, as one of them might be a name
    ],
)
def test_numeric_levels_are_drawn_to_scale_and_names_evenly(levels: tuple[str | float, ...], are_even: bool) -> None:
    first, second, third = xs(plotted(*levels))
    assert first < second < third
    assert (second - first == pytest.approx(third - second, abs=0.2)) is are_even


def test_line_plot_joins_points_in_numeric_order() -> None:
    picture = plotted(8.0, 2.0, 4.0)
    assert xs(picture) == sorted(xs(picture))
    heights = [float(dot.attrib["cy"]) for dot in picture.iter(f"{SVG}circle")]
    assert heights[0] < heights[2]  # the first that came, with a value of 0, is the lowest, at the right
    assert len([one for one in picture.iter(f"{SVG}line") if one.attrib["stroke-width"] == "2"]) == 2


def test_whiskers_are_drawn_only_for_points_with_an_interval() -> None:
    points = [LinePoint(1.0, 0.5, 0.2, 0.8), LinePoint(2.0, 0.5)]
    picture = parsed(line_plot([PlotLine("", points)], "x", "y"))
    (dot, other) = picture.iter(f"{SVG}circle")
    upright = [one.attrib for one in picture.iter(f"{SVG}line") if one.attrib["x1"] == dot.attrib["cx"]]
    whisker = next(one for one in upright if one["x2"] == dot.attrib["cx"] and one["stroke"] == dot.attrib["fill"])
    assert float(whisker["y2"]) < float(dot.attrib["cy"]) < float(whisker["y1"])
    assert not [one for one in picture.iter(f"{SVG}line") if one.attrib["x1"] == one.attrib["x2"] == other.attrib["cx"]
                and one.attrib["stroke"] == other.attrib["fill"]]  # fmt: skip


def test_line_groups_have_a_legend_and_do_not_overlap() -> None:
    lines = [PlotLine(f"retriever={name}", [LinePoint(1.0, 0.5), LinePoint(2.0, 0.5)]) for name in ("bm25", "混合")]
    picture = parsed(line_plot(lines, "x", "y"))
    assert {"retriever=bm25", "retriever=混合"} <= set(texts(picture))
    assert len(set(xs(picture))) == 4


def test_overlapping_axis_labels_are_left_out() -> None:
    shown = texts(plotted(1.0, 1.001, 100.0))
    assert ("1" in shown, "1.001" in shown, "100" in shown) == (True, False, True)


def test_markup_in_labels_is_escaped() -> None:
    picture = plotted(NASTY, "b", label=NASTY)
    assert sum(label.startswith('<b>"&') for label in texts(picture)) == 2
    assert picture.attrib["aria-label"] == "a metric, by an axis"


def test_line_plot_without_points_is_empty() -> None:
    assert xs(parsed(line_plot([], "x", "y"))) == []
