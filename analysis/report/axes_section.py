"""Section: the gain from each axis, and dependences between axes."""

from dataclasses import dataclass

from analysis.charts.dots import Dot, dots
from analysis.decision import AxisEffects, axis_effects
from analysis.decision.axis_effects import AxisEffect
from analysis.report.report_input import ReportSource
from runner.console.styled_text import count_decimals, number
from runner.results import SubsetMetric

MAX_SCENARIOS, MAX_INTERACTIONS = 12, 8
_KINDS = ("all", "subset", "task")
_PLOT_WIDTH = 240


@dataclass(frozen=True)
class LevelRow:
    """A level of an axis; its difference from the reference is None for the reference itself."""

    level: str
    mean: float
    difference: float | None
    low: float | None
    high: float | None
    is_shown: bool


@dataclass(frozen=True)
class AxisTable:
    """Differences between the values of one axis in one scenario."""

    axis: str
    reference: str
    digits: int
    levels: tuple[LevelRow, ...]
    apart: tuple[str, ...]
    svg: str


@dataclass(frozen=True)
class InteractionRow:
    """The clearest example of two axes where one gains more with some level of the other."""

    text: str
    difference: float
    low: float | None
    high: float | None
    is_shown: bool


@dataclass(frozen=True)
class ScenarioEffects:
    """Effects of the axes in one scenario, with the clearest of its `n_interactions` interactions."""

    subset: str
    label: str
    n: int
    n_clusters: int
    axes: tuple[AxisTable, ...]
    interactions: tuple[InteractionRow, ...]
    n_interactions: int


def gather(source: ReportSource) -> tuple[ScenarioEffects, ...]:
    """Return the effects for all samples, then for subsets and tasks with enough samples; () if no levels can be
    compared.
    """
    scores = source.scores
    if scores is None:
        return ()
    scenarios = [
        scored for scored in scores.scenarios() if scored.scenario.kind in _KINDS and scored.has_enough_samples
    ]
    if not scenarios:
        scenarios = scores.scenarios()[:1]
    sections = []
    for scored in scenarios[:MAX_SCENARIOS]:
        metric = SubsetMetric(scored.scenario.subset, scores.metric.metric, scores.metric.larger_is_better)
        effects = axis_effects(source.sweep, metric, alpha=source.alpha, scores=scores)
        sections.append(_effects(scored.scenario.label, effects))
    return tuple(section for section in sections if section.axes)


def _effects(label: str, effects: AxisEffects) -> ScenarioEffects:
    # A metric may ignore an axis, as a metric of rankings ignores top_k. That is not an example of dependence.
    seen = [one for one in effects.interactions if not one.unseen and one.difference]
    interactions = sorted(seen, key=lambda one: (not one.is_shown, one.p))
    return ScenarioEffects(
        effects.scenario.subset,
        label,
        effects.n,
        effects.n_clusters,
        tuple(_axis(effect) for effect in effects.axes),
        tuple(
            InteractionRow(one.text(), one.difference, one.low, one.high, one.is_shown)
            for one in interactions[:MAX_INTERACTIONS]
        ),
        len(interactions),
    )


def _axis(effect: AxisEffect) -> AxisTable:
    digits = min(count_decimals(level.mean for level in effect.levels), 3)
    rows = [
        Dot(
            level.value,
            level.difference or 0.0,
            level.low,
            level.high,
            number(level.mean, digits) if level.difference is None else number(level.difference, digits, "+"),
            level.is_shown,
        )
        for level in effect.levels
    ]
    title = f"{effect.axis}: differences from {effect.reference}, with simultaneous intervals"
    return AxisTable(
        effect.axis,
        effect.reference,
        digits,
        tuple(
            LevelRow(level.value, level.mean, level.difference, level.low, level.high, level.is_shown)
            for level in effect.levels
        ),
        effect.apart,
        dots(rows, title, with_zero=True, plot_width=_PLOT_WIDTH),
    )
