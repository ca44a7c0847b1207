"""The plan's lines about a race: its promise, and the answers that it would save."""

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path

from components.statistics import forecast, share_before_stop
from runner.launch.race_plan import PlannedRace
from runner.output.earlier_sweeps import EarlierScores, earlier_scores
from runner.output.money import format_money
from runner.pipeline.planned_cells import PlannedCell

_DEVIATION = 0.25
"""Assumed standard deviation of the difference between two cells on a sample, as for the smallest detectable
difference.
"""

_GAPS = (0.02, 0.05, 0.1)
_FEW_SAVED = 0.1
_ADVICE = "use race=none, or a larger race.margin"


def race_lines(cells: Sequence[PlannedCell], race: PlannedRace | None, results_dir: Path) -> Iterator[str]:
    """Yield the lines of the plan about the race that the settings ask for.

    `results_dir` may contain an earlier sweep of the data, from which we estimate what the race would save.
    """
    if race is None:
        if cells[0].request.cell.race.enabled:
            yield "race: no cell calls a language model, so a race saves nothing: every cell answers all samples"
        return
    n, rules = len(race.rows), race.settings.rules
    yield (
        f"race: {len(race.cells):,} cells by {race.metric} over {n:,} samples. "
        f"With probability at least {1 - rules.alpha:g}, {_guarantee_text(race)}"
    )
    yield from _mode_lines(race)
    if not rules.looks(n):
        yield f"race: {n:,} samples are too few for a look (race.first_look={rules.first_look}): the race stops no cell"
        return
    ids = {cell.cell_id for cell in race.cells}
    earlier = earlier_scores(results_dir, cells[0].graph.data.key, race.metric, ids)
    share = earlier and _forecast(race, earlier)
    if earlier is None or share is None:
        yield from _band(race)
        return
    saved, n_cells = 1 - share, earlier.scores.shape[1]
    shared = f", {earlier.n_planned:,} of them planned here" if earlier.n_planned < n_cells else ""
    other = "" if earlier.n_planned else "; your cells may save more or less"
    yield (
        f"race: about {saved:.0%} of the answers would be saved, as in races over {earlier.folder} "
        f"({n_cells:,} cells{shared}{other}){f': {_ADVICE}' if saved < _FEW_SAVED else ''}"
    )


def _forecast(race: PlannedRace, earlier: EarlierScores) -> float | None:
    """Return the share of the answers that races over the earlier cells ask for the targets of this race.

    Returns None if the earlier cells have no samples of the race, or no known costs for a race that needs them.
    """
    row_of = {(sample.id, sample.question): row for row, sample in enumerate(race.samples)}
    rows = [row for row, sample in enumerate(earlier.samples) if sample in row_of]
    if not rows or (race.costs is not None and any(map(isnan, earlier.costs))):
        return None
    members = race.members[[row_of[earlier.samples[row]] for row in rows]]
    costs = None if race.costs is None else earlier.costs
    return forecast(earlier.scores[rows], race.settings.rules, members[:, members.any(axis=0)], costs)


def _guarantee_text(race: PlannedRace) -> str:
    margin = race.settings.margin
    best = "the winner of the full run" if race.costs is None else "any cell of the full run's front"
    each = " for each target" if len(race.targets) > 1 else ""
    if not margin:
        return f"it does not stop {best}{each}"
    finisher = "the best finisher" if race.costs is None else "a finisher that costs no more"
    return f"{finisher} is at most {margin:g} worse than {best}{each}"


def _mode_lines(race: PlannedRace) -> Iterator[str]:
    if (n := len(race.targets)) > 1:
        sizes = race.members.sum(axis=0)
        yield (
            f"race: a cell stops only when it can win none of {n:,} targets, the smallest with {sizes.min():,} samples "
            f"({race.targets[sizes.argmin()]}). This stops few cells; race.targets=[overall] stops more."
        )
    if race.costs is not None:
        known = _known_costs(race.costs)
        currency = race.cells[0].request.cell.prices.currency
        ends = f" from {format_money(min(known), currency)} to {format_money(max(known), currency)}" if known else ""
        unknown = f"; {n:,} cells of unknown cost all finish" if (n := sum(map(isnan, race.costs))) else ""
        yield f"race: cells stop behind cells that cost no more: {len(known):,} different costs{ends}{unknown}"


def _band(race: PlannedRace) -> Iterator[str]:
    """Yield lines for assumed differences between cells, because no earlier sweep shows the real ones."""
    share = {gap: _share_before_stop(race, gap) for gap in _GAPS}
    shares = ", ".join(f"{share[gap]:.0%} if it ends {gap:g} behind" for gap in _GAPS)
    least = "at least about" if len(race.targets) > 1 else "about"
    yield (
        f"race: a cell answers {least} {shares} (no earlier sweep of these samples to forecast from: differences "
        f"assumed to have a standard deviation of {_DEVIATION})"
    )
    if share[_GAPS[0]] > 1 - _FEW_SAVED:
        yield (
            f"race: about {1 - share[_GAPS[0]]:.0%} of the answers would be saved among cells that differ by "
            f"{_GAPS[0]:g}: {_ADVICE}"
        )


def _share_before_stop(race: PlannedRace, gap: float) -> float:
    """Return the share of the samples that a cell answers before it stops, if it is `gap` behind the winner."""
    rules, n = race.settings.rules, len(race.rows)
    errors = (gap + rules.margin) / _DEVIATION * n**0.5
    n_tests = (2 if rules.margin else 1) * max(1, len(_known_costs(race.costs or ())))
    return max(share_before_stop(errors, rules.alpha / n_tests), rules.looks(n)[0] / n)


def _known_costs(costs: Sequence[float]) -> set[float]:
    return {cost for cost in costs if not isnan(cost)}
