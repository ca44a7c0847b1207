"""Section: the answer in a sentence, and four figures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.comparison import Family
from analysis.costs import EQUALLY_CHEAP, TOKENS, known_costs
from analysis.report.choice import COVERAGE, Choice, choice_of, may_be_best
from analysis.report.prose import Prose, count, digits_of, duration, listed, number, prose
from analysis.report.source import Source
from components.statistics import POWER
from runner.display import about
from runner.loaded import SubsetMetric
from runner.results import OK, CellResult


@dataclass(frozen=True)
class Figure:
    """A number that stands out, with what it is above and what it is over below."""

    head: str
    value: str
    note: str
    link: str = ""


@dataclass(frozen=True)
class Answer:
    """`take` is the cell to take: the cheapest of those that may be the best; "" if no cell has a value."""

    about: str
    sentence: Prose
    take: str
    best: str
    n_may_be_best: int
    figures: tuple[Figure, ...]


def gather(source: Source) -> Answer:
    """From the tests of the metric that the report is about."""
    main = source.main
    valued = source.valued(main.metric) if main else []
    if main is None or not valued:
        return Answer(_about(source), _nothing(source), "", "", 0, ())
    if main.family is None:
        best = source.sweep.ranked(f"{main.metric.subset}:{main.metric.metric}")[0]
        only = _only(source, main.metric, best)
        return Answer(_about(source), only, best.cell_id, best.cell_id, 1, (_best_figure(main.metric, best),))
    family = main.family
    best, candidates = family.baseline.cell, may_be_best(family)
    choice = choice_of(family)
    take = choice.cell
    sentence = _first(source, family) + _others(source, family, choice)
    figures = (_best_figure(family.metric, best), _tied_figure(family, candidates), *_shown_figure(family))
    return Answer(_about(source), sentence, take.cell_id, best.cell_id, len(candidates), figures)


def with_losses(answer: Answer, n_lost: int, n_with_gold: int) -> Answer:
    """The answer with a figure of of how many samples of the cell to take gold is missing from the prompt."""
    if not n_with_gold:
        return answer
    note = f"{n_lost:,} of {n_with_gold:,} samples of the cell to take lack some"
    figure = Figure("Gold missing from the prompt", f"{n_lost / n_with_gold:.0%}", note, "#failures")
    return replace(answer, figures=(*answer.figures, figure))


def _about(source: Source) -> str:
    """What was swept over which data."""
    sweep, cells = source.sweep, source.sweep.cells
    levels = {axis: dict.fromkeys(str(cell.axes[axis]) for cell in cells if cell.axes.get(axis) is not None)
              for axis in source.names.axes}  # fmt: skip
    axes = " \u00d7 ".join(f"{axis} ({', '.join(values)})" for axis, values in levels.items())
    data = dict.fromkeys(
        f"{count(int(cell.dataset['n_samples']), 'sample')} of {cell.dataset.get('name')}"
        for cell in cells
        if "n_samples" in cell.dataset
    )
    n_cells = count(len(cells) + len(sweep.unfinished), "cell")
    return " \u00b7 ".join(filter(None, [f"{n_cells} of {axes}" if axes else n_cells, *data]))


def _nothing(source: Source) -> Prose:
    cells = source.sweep.cells
    if not cells:
        return prose(f"No cell of this sweep has a result yet: {count(len(source.sweep.unfinished), 'cell')} to go.")
    failed = [cell for cell in cells if cell.status != OK]
    if failed:
        return prose(
            "No cell can be recommended: ", f"{len(failed)} of {count(len(cells), 'cell')} failed", ". "
        ) + prose(f"The first reason: {failed[0].reason}")
    return prose("No cell has a value of a metric that ranks cells.")


def _only(source: Source, metric: SubsetMetric, cell: CellResult) -> Prose:
    value = number(metric.value(cell), digits_of([metric.value(cell)]))
    others = source.main.why_not if source.main else ""
    return prose("", source.names.short(cell), f" has {value} by ", metric.metric, f" of {_samples(metric)}. {others}")


def _samples(metric: SubsetMetric) -> str:
    return str(metric).removeprefix(f"{metric.metric} of ")


def _first(source: Source, family: Family) -> Prose:
    metric, best = family.metric, family.baseline
    digits = digits_of([best.mean])
    smaller = "" if metric.direction() else " (smaller is better)"
    return prose(
        "By ",
        metric.metric,
        f"{smaller} over {_samples(metric)}, ",
        source.names.of_several(best.cells),
        f" comes first ({number(best.mean, digits)}).",
    )


def _others(source: Source, family: Family, choice: Choice) -> Prose:
    """How many cells may be as good, which one of them costs least, and what the metric does not see of it."""
    n_others, undecided = len(family.rows), family.not_distinguishable
    if not family.rows:
        sentence = prose(f"All {len(family.baseline.cells)} cells have the same value for every sample.")
    elif not undecided:
        sentence = prose("", "Every other cell is shown to be worse", ".")
    else:
        sentence = prose("But these samples cannot tell ", _how_many(len(undecided), n_others), " from it.")
    kind = "cheap" if choice.weighs_tokens else "fast"
    if family.baseline.cell not in choice.cells:
        saved = _saved(choice, family.baseline.cell)
        sentence += prose(f"The {kind}est of these is ", source.names.of_several(choice.cells), f"{saved}.")
    elif undecided:
        sentence += prose(f"None of these is noticeably {kind}er, so take ", source.names.of_several(choice.cells), ".")
    return sentence + _unseen(source, family.metric, choice)


def _unseen(source: Source, metric: SubsetMetric, choice: Choice) -> Prose:
    """Which of the cells that are one to a metric of rankings is taken, and why."""
    least = choice.emptiest
    if least is None:
        return prose()
    covered, other = choice.cell.value(COVERAGE) or 0.0, least.value(COVERAGE) or 0.0
    return prose(
        f"{metric.metric} does not see how much of what was found is read: ",
        source.names.short(choice.cell),
        f" brings {covered:.0%} of the gold into the prompt, {source.names.short(least)} {other:.0%}.",
    )


def _how_many(n: int, n_others: int) -> str:
    if n < n_others:
        return f"{n} of the {n_others} others"
    return "the other one" if n == 1 else f"any of the {n} others"


def _saved(choice: Choice, best: CellResult) -> str:
    """E.g. ": 444 instead of 1,722 tokens of passages, 4.3 ms instead of 11 ms per question"."""
    parts, take = [], choice.cell
    for cost in known_costs([take, best], TOKENS if choice.weighs_tokens else ())[:1]:
        own, other = cost.of(take) or 0.0, cost.of(best) or 0.0
        is_same = max(own, other) <= min(own, other) * EQUALLY_CHEAP
        parts.append(f"about as many {cost.head}" if is_same else f"{own:,.0f} instead of {other:,.0f} {cost.head}")
    for cost in known_costs([take, best], ("seconds",)):
        own, other = cost.of(take) or 0.0, cost.of(best) or 0.0
        parts.append(f"{duration(own)} instead of {duration(other)} per question")
    return f": {', '.join(parts)}" if parts else ""


def _best_figure(metric: SubsetMetric, best: CellResult) -> Figure:
    entry = best.metrics[metric.subset][metric.metric]
    value = metric.value(best)
    digits = digits_of([value])
    low, high = entry.get("ci_low"), entry.get("ci_high")
    interval = "" if low is None else f"95 % interval {number(low, digits)} to {number(high, digits)}, "
    return Figure(f"Best {metric.metric}", number(value, digits), f"{interval}n = {entry['n']:,}", "#cells")


def _tied_figure(family: Family, candidates: Sequence[CellResult]) -> Figure:
    n_cells = sum(len(standing.cells) for standing in family.standings)
    return Figure(
        "May be the best",
        f"{len(candidates)} of {count(n_cells, 'cell')}",
        f"with {100 * (1 - family.alpha):g} % confidence the truly best one is among them",
        "#cells",
    )


def _shown_figure(family: Family) -> list[Figure]:
    """The difference that these samples can show; none where it is not known."""
    sizes = [row.detectable for row in family.rows if row.detectable is not None]
    if not sizes:
        return []
    ends = dict.fromkeys(about(size) for size in (min(sizes), max(sizes)))
    note = f"found with {POWER:.0%} probability; n = {family.n:,} in {count(family.n_clusters, 'group')}"
    return [Figure("Smallest difference that shows", listed(ends, "to"), note, "#trust")]
