from xml.etree import ElementTree

from analysis.charts.canvas import Scale, padded_range
from analysis.charts.curves import Curve, curves
from analysis.charts.dots import Dot, dots
from analysis.charts.scatter import Point, scatter
from analysis.charts.stacked_bars import BarKind, stacked_bars

NASTY = '<b>"&\x00\u202e' + "x" * 100_000
SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    assert len(svg) < 20_000
    return ElementTree.fromstring(svg)


def texts(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def test_axis_scale_has_round_ticks() -> None:
    assert Scale(0.1, 0.95, 0, 100).ticks(2) == [0.5]
    assert Scale(0, 2000, 0, 100).ticks(5) == [0, 500, 1000, 1500, 2000]
    assert Scale(3, 3, 0, 100).at(3) == 50
    assert padded_range([]) == (-0.05, 1.05)


def test_dots_are_drawn_at_their_values() -> None:
    picture = parsed(dots([Dot("a", 0.0), Dot("b", 1.0, 0.5, 1.5, "note"), Dot(NASTY, 0.5)], "a title"))
    places = [float(dot.attrib["cx"]) for dot in picture.iter(f"{SVG}circle")]
    assert places[0] < places[2] < places[1]
    assert places[2] * 2 == places[0] + places[1]
    assert picture.attrib["aria-label"] == "a title"
    assert any(text.startswith('<b>"&\\x00') for text in texts(picture))


def test_bar_lengths_equal_their_counts() -> None:
    kinds = [BarKind("right", "right", "#080", "#fff"), BarKind("wrong", "wrong", "#800", "#fff")]
    picture = parsed(stacked_bars({"a": {"right": 30, "wrong": 10}, NASTY: {"wrong": 40}}, kinds, "t"))
    widths = [float(bar.attrib["width"]) for bar in picture.iter(f"{SVG}rect")]
    assert widths == [480.0, 160.0, 640.0]
    assert {"30", "10", "40"} <= set(texts(picture))


def test_scatter_labels_only_front_points_without_overlap() -> None:
    points = [Point("a", 1, 1, is_on_front=True), Point("b", 1, 1, is_on_front=True), Point("hidden", 2, 0)]
    picture = parsed(scatter(points, "cost", "quality", "t"))
    labels = {text.text: float(text.attrib["y"]) for text in picture.iter(f"{SVG}text")}
    assert "hidden" not in labels
    assert abs(labels["a"] - labels["b"]) >= 15


def test_curves_rise_with_their_shares_and_use_dashes_beyond_eight() -> None:
    picture = parsed(curves(["1", "2"], [Curve(NASTY, [0.0, 1.0]), *[Curve("b", [0.5, 0.5])] * 9], "k", "t"))
    lines = [line for line in picture.iter(f"{SVG}line") if line.attrib["stroke-width"] == "2"]
    assert float(lines[0].attrib["y2"]) < float(lines[0].attrib["y1"])
    assert lines[9].attrib["stroke-dasharray"] == "5 4"


def test_charts_without_data_are_valid_svg() -> None:
    for svg in (dots([], "t"), stacked_bars({}, [], "t"), scatter([], "x", "y", "t"), curves([], [], "x", "t")):
        parsed(svg)
