"""Section: the recommended level for each scenario, axis by axis."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.decision import Recommendation, recommendations
from analysis.decision.candidate_cells import Candidates, candidates
from analysis.decision.recommendations import EQUAL, SHOWN, TOO_FEW, RecommendationLevel
from analysis.decision.scenario_scores import MIN_SAMPLES
from analysis.report.report_input import ReportSource
from runner.console.styled_text import count, count_decimals, join_names, number
from runner.results import CONDITION

_MAX_SMALL_SCENARIOS = 10

_KINDS = {"all": "", "subset": "Subsets", "task": "Tasks", "topic": "Topics"}


@dataclass(frozen=True)
class ScenarioChoice:
    """The recommendation for an axis.

    `head` names the level or reports that no difference is significant. `note` is the margin of the level, or the
    cheapest level with the smallest detectable difference; then the levels that could not be compared.
    """

    verdict: str
    head: str
    note: str


@dataclass(frozen=True)
class ScenarioRow:
    """A scenario with a choice for each axis that can be compared in it."""

    subset: str
    label: str
    n: int
    n_clusters: int
    choices: Mapping[str, ScenarioChoice]
    best: str
    best_note: str

    @property
    def is_telling(self) -> bool:
        """True if there were enough samples for any choice."""
        return any(choice.verdict != TOO_FEW for choice in self.choices.values())


@dataclass(frozen=True)
class ScenarioGroup:
    """Scenarios of one kind: all samples, subsets, tasks or topics."""

    head: str
    rows: tuple[ScenarioRow, ...]

    @property
    def rows_with_enough_samples(self) -> list[ScenarioRow]:
        """Scenarios with enough samples for a choice."""
        return [row for row in self.rows if row.is_telling]

    @property
    def too_few(self) -> str:
        """Name the first scenarios with too few samples for any choice, and count the others; "" if all have enough."""
        few = [row for row in self.rows if not row.is_telling]
        named = [f"{row.label} ({row.n:,} in {count(row.n_clusters, 'group')})" for row in few[:_MAX_SMALL_SCENARIOS]]
        more = [f"{len(few) - _MAX_SMALL_SCENARIOS} more"] if len(few) > _MAX_SMALL_SCENARIOS else []
        return join_names([*named, *more])


@dataclass(frozen=True)
class Scenarios:
    """Recommendations by kind of scenario, with the records of `analysis.decision`, which have p-values."""

    axes: tuple[str, ...]
    groups: tuple[ScenarioGroup, ...]
    n_shown: int
    n_tested: int
    alpha: float
    recommendations: dict[str, object]
    candidates: tuple[dict[str, object], ...]

    @property
    def names_cells(self) -> bool:
        """False if one axis varies: its values are the cells, and one test of them is enough."""
        return len(self.axes) > 1


def gather(source: ReportSource) -> Scenarios | None:
    """Return the section for the main metric; None if no two cells can be compared or nothing varies."""
    scores = source.scores
    if scores is None:
        return None
    recommended = recommendations(source.sweep, scores.metric, alpha=source.alpha, scores=scores)
    if not recommended.entries:
        return None
    cells = candidates(source.sweep, scores.metric, alpha=source.alpha, scores=scores)
    best_by_scenario = {ranked.scenario.subset: ranked for ranked in cells}
    groups: dict[str, list[ScenarioRow]] = {}
    for scenario in recommended.scenarios():
        entries = [entry for entry in recommended.entries if entry.scenario == scenario]
        choices = {entry.axis: _choice(entry) for entry in entries}
        best = _best(source, best_by_scenario.get(scenario.subset))
        row = ScenarioRow(scenario.subset, scenario.label, entries[0].n, entries[0].n_clusters, choices, *best)
        groups.setdefault(_KINDS.get(scenario.kind, scenario.kind), []).append(row)
    return Scenarios(
        tuple(recommended.axes()),
        tuple(ScenarioGroup(head, tuple(rows)) for head, rows in groups.items()),
        sum(entry.verdict == SHOWN for entry in recommended.entries),
        recommended.n_tested,
        recommended.alpha,
        recommended.as_record(),
        tuple(ranked.as_record() for ranked in cells),
    )


def _best(source: ReportSource, ranked: Candidates | None) -> tuple[str, str]:
    """Return the cells with the best mean, and the number of further cells that may be the best.

    Both are "" with too few samples. No cell is named if cells were tested under different conditions.
    """
    if ranked is None or not ranked.has_enough_samples:
        return "", ""
    cells = {cell.cell_id: cell for cell in source.sweep.cells}
    if ranked.spans_conditions:
        return "", f"none: cells differ in {CONDITION}"
    equal = [cell for cell in ranked.cells if cell.mean == ranked.cells[0].mean]
    best = source.names.joined_name([cells[cell.cell_id] for cell in equal])
    more = len(ranked.cells) - len(equal)
    if len(ranked.cells) == len(equal) < ranked.n_cells:
        return best, "all others are significantly worse"
    many = (
        f"all {ranked.n_cells} may be the best"
        if len(ranked.cells) == ranked.n_cells
        else f"{more} more may be the best"
    )
    is_cheaper = ranked.take not in [cell.cell_id for cell in equal]
    return best, f"{many}. Take {source.names.short_name(cells[ranked.take])}" if is_cheaper else many


def _choice(entry: Recommendation) -> ScenarioChoice:
    if entry.verdict == TOO_FEW:
        return ScenarioChoice(TOO_FEW, "too few samples" if entry.n < MIN_SAMPLES else entry.too_few_groups(), "")
    head, notes = _head_and_notes(entry)
    return ScenarioChoice(entry.verdict, head, "; ".join(filter(None, [*notes, entry.not_compared])))


def _head_and_notes(entry: Recommendation) -> tuple[str, list[str]]:
    """Return the head of a tested choice, and the parts of its note; "" for a part without content."""
    cheap = entry.cheapest_label
    if entry.verdict == SHOWN:
        return " or ".join(entry.best), [f"{_margin(entry)} {_runner_up(entry)}", cheap if len(entry.best) > 1 else ""]
    if entry.verdict in EQUAL:
        return EQUAL[entry.verdict], [cheap]
    if entry.detectable is None:
        return entry.too_few_groups(), []
    return "no significant difference", [cheap, entry.smallest_detectable()]


def _margin(entry: Recommendation) -> str:
    """Return the mean of the best level minus the mean of the best level that is ruled out."""
    difference = entry.levels[0].mean - _next(entry).mean
    return number(difference, min(count_decimals([entry.levels[0].mean]), 3), "+")


def _runner_up(entry: Recommendation) -> str:
    return f"over {_next(entry).value}"


def _next(entry: Recommendation) -> RecommendationLevel:
    return next(level for level in entry.levels if not level.may_be_best)
