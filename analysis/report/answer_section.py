"""Section: the answer in a sentence, and figures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.comparison_family import Family, detectable_range, needed_range
from analysis.report.report_input import ReportSource
from components.statistics import POWER
from components.subsets import OVERALL
from runner import results
from runner.console.styled_text import Prose, count, count_decimals, join_names, number, prose
from runner.results import (
    NO_QUALITY,
    CellResult,
    Choice,
    SubsetMetric,
    choice_text,
    choose,
    mean_entry,
    race_winner_text,
    samples_text,
    search_text,
    too_few_groups,
)


@dataclass(frozen=True)
class Figure:
    """A prominent number, with its subject above and its basis below."""

    head: str
    value: str
    note: str
    link: str = ""


@dataclass(frozen=True)
class ReportAnswer:
    """The answer of the report.

    `take` is the id of the cell to take (see `runner.results.Choice`), `best` the id of the cell with the best mean; ""
    if no cell has a value. The sentence, the matrix and the failures describe the cell to take. `in_full` has all
    values of the cell to take where the sentence names only its change of the base; otherwise it is "". If cells were
    tested under different conditions, no cell `is_recommended`, and `take` is the cell with the best mean.
    """

    about: str
    sentence: Prose
    take: str
    best: str
    n_may_be_best: int
    figures: tuple[Figure, ...]
    is_recommended: bool = True
    in_full: str = ""

    @property
    def cell(self) -> str:
        """Words for the cell of the matrix fields and failures: "the cell to take" or "the cell with the best mean"."""
        return "the cell to take" if self.is_recommended else "the cell with the best mean"


def gather(source: ReportSource) -> ReportAnswer:
    """Return the answer from the tests of the report's main metric."""
    main = source.main
    valued = source.list_cells_with_value(main.metric) if main else []
    if main is None or not valued:
        return ReportAnswer(_about(source), _no_answer(source), "", "", 0, ())
    if main.family is None:
        name = f"{main.metric.subset}:{main.metric.metric}"
        best = results.without_bounds(source.sweep.rank_cells(name))[0]
        take = source.sweep.best(name) if source.sweep.is_chosen_by_scores else best
        only = (
            _single_answer(source, main.metric, take)
            if take is best
            else _untested_answer(source, main.metric, take, best)
        )
        figure = _best_figure(main.metric, [best])
        in_full = source.names.full_name(take)
        return ReportAnswer(_about(source), only, take.cell_id, best.cell_id, 1, (figure,), in_full=in_full)
    family, choice = main.family, build_choice(main.family)
    sentence = choice_text(
        choice,
        family.metric.metric,
        samples_text(_samples(family.metric), family.n, family.n_known),
        source.names.prose_name,
        larger_is_better=family.metric.direction(),
    )
    tied = () if choice.spans_conditions else (_tied_figure(family, choice),)
    figures = (
        _best_figure(family.metric, family.baseline.cells),
        *tied,
        *_detectable_figure(family),
        *_needed_figure(family, choice),
    )
    return ReportAnswer(
        _about(source),
        sentence,
        choice.cell.cell_id,
        choice.best.cell_id,
        choice.n_tied,
        figures,
        is_recommended=not choice.spans_conditions,
        in_full=source.names.full_name(choice.cell),
    )


def build_choice(family: Family) -> Choice:
    """Return the cell to take, of cells that were compared with the best of them."""
    tied = [family.baseline, *(row.standing for row in family.not_distinguishable)]
    means = {cell.cell_id: standing.mean for standing in family.standings for cell in standing.cells}
    compared = [cell for standing in family.standings for cell in standing.cells]
    is_near = [True, *(row.is_near for row in family.not_distinguishable)]
    choice = choose([standing.cells for standing in tied], is_near, compared, family.metric.metric, means)
    few = too_few_groups(family.n_clusters, family.n_effective) if family.has_too_few_groups else ""
    return replace(choice, too_few=few)


def add_losses(answer: ReportAnswer, n_lost: int, n_with_gold: int) -> ReportAnswer:
    """Return the answer with the share of samples of the cell to take whose prompt lacks gold."""
    if not n_with_gold:
        return answer
    note = f"{n_lost:,} of {n_with_gold:,} samples with gold lack all or part of it, in {answer.cell}"
    figure = Figure("Samples without all of their gold in the prompt", f"{n_lost / n_with_gold:.0%}", note, "#failures")
    return replace(answer, figures=(*answer.figures, figure))


def _about(source: ReportSource) -> str:
    """Describe the axes of the sweep and its data."""
    sweep, cells = source.sweep, source.sweep.cells
    levels = {axis: dict.fromkeys(str(cell.axes[axis]) for cell in cells if cell.axes.get(axis) is not None)
              for axis in source.names.axes}  # fmt: skip
    n_cells = len(cells) + len(sweep.unfinished)
    is_full = math.prod(map(len, levels.values())) == n_cells
    axes = (" \u00d7 " if is_full else ", ").join(f"{axis} ({', '.join(values)})" for axis, values in levels.items())
    data = dict.fromkeys(
        f"{count(int(cell.dataset['n_samples']), 'sample')} of {cell.dataset.get('name')}"
        for cell in cells
        if "n_samples" in cell.dataset
    )
    if sweep.searches:
        return " \u00b7 ".join([*map(search_text, sweep.searches), *data])
    parts = [f"{count(n_cells, 'cell')} of {axes}" if axes else count(n_cells, "cell"), *data]
    if source.names.base is not None:
        parts.append(f"named by changes from the base: {source.names.base_text}")
    return " \u00b7 ".join(filter(None, parts))


def _no_answer(source: ReportSource) -> Prose:
    """Explain why no cell can be recommended."""
    cells = source.sweep.cells
    if not cells:
        return prose(f"No cell of this sweep has a result yet: {count(len(source.sweep.unfinished), 'cell')} to go.")
    failed = source.sweep.failed
    if failed:
        return prose(
            "No cell can be recommended: ", f"{len(failed)} of {count(len(cells), 'cell')} failed", "."
        ) + prose(f"The first reason: {failed[0].reason}")
    if source.sweep.lacks_quality:
        return prose(f"No cell can be recommended: {NO_QUALITY}.")
    return prose("No cell has a value of a metric that ranks cells.")


def _single_answer(source: ReportSource, metric: SubsetMetric, cell: CellResult) -> Prose:
    value = number(metric.value(cell), count_decimals([metric.value(cell)]))
    n_failed, stopped = len(source.sweep.failed), source.sweep.stopped
    has_won = bool(race_winner_text(stopped)) and stopped[0].race["metric"] == metric.metric
    if has_won and metric.subset == OVERALL and not n_failed:
        mean = f". It has {value} by {metric.metric} over {_samples(metric)}."
        return prose("Take ", source.names.prose_name(cell), mean) + prose(race_winner_text(stopped))
    failed = f"{n_failed} of {count(len(source.sweep.cells), 'cell')} failed. " if n_failed else ""
    note = failed + (source.main.why_not if source.main else "")
    return prose(
        "", source.names.prose_name(cell), f" has {value} by ", metric.metric, f" of {_samples(metric)}. {note}"
    )


def _untested_answer(source: ReportSource, metric: SubsetMetric, take: CellResult, best: CellResult) -> Prose:
    """Describe the cell to take of a search by scores, and the best mean, which another cell has."""
    means = [number(metric.value(cell), count_decimals([metric.value(cell)])) for cell in (take, best)]
    why = source.main.why_not if source.main else ""
    names = [source.names.prose_name(cell) for cell in (take, best)]
    over = f" of {_samples(metric)}, and is cheaper than "
    return prose(
        "Take ", names[0], f". It has {means[0]} by ", metric.metric, over, names[1], f", which has {means[1]}. {why}"
    )


def _samples(metric: SubsetMetric) -> str:
    return str(metric).removeprefix(f"{metric.metric} of ")


def _best_figure(metric: SubsetMetric, best: Sequence[CellResult]) -> Figure:
    entry = mean_entry(best, metric.subset, metric.metric)
    value = entry["value"]
    digits = count_decimals([value])
    low, high = entry.get("ci_low"), entry.get("ci_high")
    interval = "" if low is None else f"95% interval {number(low, digits)} to {number(high, digits)}, "
    return Figure(f"Best {metric.metric}", number(value, digits), f"{interval}n = {entry['n']:,}", "#cells")


def _tied_figure(family: Family, choice: Choice) -> Figure:
    if choice.too_few:
        return Figure("May be the best", "cannot tell", choice.too_few.removesuffix(" to tell"), "#trust")
    note = f"with {100 * (1 - family.alpha):g}% confidence the best cell is among them"
    if choice.n_tied == len(choice.compared):
        note = "no cell is significantly worse than the best"
    return Figure(
        "May be the best",
        f"{choice.n_tied} of {count(len(choice.compared), 'cell')}",
        note,
        "#cells",
    )


def _detectable_figure(family: Family) -> list[Figure]:
    """Return the figure of the smallest detectable difference; [] if it is unknown."""
    ends = detectable_range(family)
    if not ends:
        return []
    note = f"detected with {POWER:.0%} probability; n = {family.n:,} in {count(family.n_clusters, 'group')}"
    return [Figure("Smallest detectable difference", join_names(ends, "to"), note, "#trust")]


def _needed_figure(family: Family, choice: Choice) -> list[Figure]:
    """Return the figure of the samples that would distinguish the cells that may be the best; [] if unknown."""
    span = "" if choice.spans_conditions else needed_range(family)
    if not span:
        return []
    note = f"would find the observed differences from the best mean with {POWER:.0%} probability"
    return [Figure("Samples needed to tell them apart", span, note, "#cells")]
