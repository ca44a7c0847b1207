"""Effects of axes, on sweeps with known effects."""

from pathlib import Path

import numpy as np
import pytest

from analysis.decision import AxisEffects, axis_effects
from analysis.decision.axis_effects import BASE, BEST, AxisEffect
from runner.results.loaded_sweep import load
from tests.analysis.decision.planted import write

SIZES = ["64", "256", "512"]


def effects(folder: Path, metric: str = "rouge_l") -> AxisEffects:
    return axis_effects(load(folder), metric)


def axis(found: AxisEffects, name: str) -> AxisEffect:
    return next(one for one in found.axes if one.axis == name)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Larger sizes are better, and more so with k=2."""
    return write(
        tmp_path_factory.mktemp("effects") / "sweep",
        {"size": SIZES, "k": [2, 8]},
        {"size": {"256": 0.1, "512": 0.1}},
        pairs={("512", 2): 0.1},
    )


def test_effects_are_differences_from_the_best_level_with_intervals(planted: Path) -> None:
    found = axis(effects(planted), "size")
    assert (found.reference, found.reference_is) == ("512", BEST)
    assert [level.value for level in found.levels] == ["512", "256", "64"]
    first, second, third = found.levels
    assert first.difference is None
    for level, true in ((second, -0.05), (third, -0.15)):
        assert level.low is not None
        assert level.high is not None
        assert level.low < true < level.high < 0
        assert level.is_shown
        assert level.difference == pytest.approx(level.mean - first.mean)


def test_effect_is_significant_exactly_if_its_interval_excludes_zero(planted: Path) -> None:
    for one in effects(planted).axes:
        for level in one.levels:
            if level.low is not None and level.high is not None:
                assert level.is_shown == (not level.low <= 0 <= level.high)


def test_clearest_interaction_is_described_in_a_sentence(planted: Path) -> None:
    (found,) = effects(planted).interactions
    assert found.is_shown
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.1 < found.high
    assert found.n_compared == 3
    assert found.difference == pytest.approx(found.gain_more - found.gain_less)
    assert found.text() in {
        f"size=512 instead of {other} gains {size} more with k=2 than with 8"
        for other in ("64", "256")
        for size in [f"{found.difference:.2g}"]
    } | {f"size=512 instead of 256 gains {found.gain_more:.2g} with k=2 and loses {-found.gain_less:.2g} with 8"}


def test_interactions_treat_a_fall_as_a_gain_for_minimized_metrics(planted: Path) -> None:
    found = effects(planted, "hallucination")
    assert [level.value for level in axis(found, "size").levels] == ["64", "256", "512"]
    (one,) = found.interactions
    assert one.difference > 0
    assert (one.worse, one.more_with) == ("512", "2")


def test_one_at_a_time_effects_are_differences_from_the_base(tmp_path: Path) -> None:
    axes = {name: ["1", "2"] for name in ("a", "b", "c", "d")}
    folder = write(tmp_path / "sweep", axes, {"a": {"2": 0.2}}, one_at_a_time=True)
    found = effects(folder)
    assert {(one.reference, one.reference_is) for one in found.axes} == {("1", BASE)}
    better, base = axis(found, "a").levels
    assert (better.value, better.is_shown, base.difference) == ("2", True, None)
    assert better.difference == pytest.approx(0.2, abs=0.03)
    assert found.interactions == ()


def test_effects_have_no_intervals_with_few_groups(sweep: Path) -> None:
    found = effects(sweep, "read/qa_1doc:rouge_l")
    assert {level.low for one in found.axes for level in one.levels} == {None}
    assert not any(level.is_shown for one in found.axes for level in one.levels)
    assert found.interactions == ()
    assert np.isfinite([level.mean for one in found.axes for level in one.levels]).all()


def test_interaction_names_an_axis_without_effect_on_the_metric(tmp_path: Path) -> None:
    axes = {"size": ["64", "256"], "k": [2, 8]}
    (one,) = effects(write(tmp_path, axes, {"size": {"256": 0.2}}, same=("k",))).interactions
    assert one.unseen == "k"
    assert one.text().startswith("k does not affect the metric: size=256 instead of 64 gains the same with k=")
