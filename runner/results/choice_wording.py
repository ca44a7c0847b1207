"""The recommendation of a cell in sentences, for the report and for MLflow."""

from collections.abc import Callable, Sequence

from runner.console.styled_text import Prose, count, count_decimals, duration, number, prose
from runner.results.cell_axes import are_draws
from runner.results.cell_choice import COMPARE_ALIKE, Choice
from runner.results.cell_result import CellResult
from runner.results.costs import passage_tokens
from runner.results.leaderboard_order import COVERAGE

UNLIKE = 1.5
"""Cells whose tokens of context differ by more than this factor are named with these numbers."""

_ALL_WORSE = "all other cells are significantly worse"
_ALL_WITH_OTHER_SCORES_WORSE = "all cells with other scores are significantly worse"

Name = Callable[[CellResult], str]


def choice_text(choice: Choice, metric: str, samples: str, name: Name, *, larger_is_better: bool) -> Prose:
    """Return which cell to take, why, and what the metric does not see.

    At least two cells were compared. `samples` names the samples ("all samples").
    """
    directed = f"{metric}{'' if larger_is_better else ' (smaller is better)'}"
    by = f"{directed} over {samples}"
    if choice.spans_conditions:
        return _compare_conditions(choice, by, name, larger_is_better=larger_is_better)
    if choice.too_few:
        return _take_untested(choice, by, name) + _cells_with_equal_values(choice, metric, name)
    first = (
        _recommend_best(choice, metric, (directed, samples), name)
        if choice.cell is choice.best
        else _recommend_cheaper(choice, metric, by, name)
    )
    return first + _cells_with_equal_values(choice, metric, name)


def _take_untested(choice: Choice, by: str, name: Name) -> Prose:
    """Recommend a cell by its mean, where no test can tell it from the others."""
    chosen, best = choice.cell, choice.best
    among = "" if chosen is best else f"; the best mean is {_value(choice, best)} ({name(best)})"
    return prose(
        "Take ", name(chosen), f". Its {by} is {_value(choice, chosen)}{_context(choice, name)}{among}."
    ) + prose("This does not show that it is better: there are ", choice.too_few, ".")


def _compare_conditions(choice: Choice, by: str, name: Name, *, larger_is_better: bool) -> Prose:
    """Describe cells under different conditions without a recommendation."""
    order = sorted(choice.compared, key=lambda cell: choice.means[cell.cell_id], reverse=larger_is_better)
    best, worst = order[0], order[-1]
    n_equal = len(choice.tied[0]) - 1
    have = f"and {count(n_equal, 'other cell')} have" if n_equal else "has"
    return prose(f"{COMPARE_ALIKE} By {by}, ", name(best)) + prose(
        f"{have} the best mean ({_value(choice, best)}) and {name(worst)} the worst ({_value(choice, worst)})."
    )


def race_winner_text(stopped: Sequence[CellResult]) -> str:
    """Describe the win of the only cell that a race did not stop, or "" if no cell was stopped.

    Returns "" also if the user stopped one: it might have won, and it may have stopped others of the race.
    """
    if not stopped or not all(cell.race for cell in stopped):
        return ""
    race = stopped[0].race
    better = f"be more than {race['margin']:g} better in" if race["margin"] else "have a better"
    losers = "the stopped cell would not" if len(stopped) == 1 else f"none of the {len(stopped)} stopped cells would"
    sure = f"with {100 * race['confidence']:.4g}% confidence"
    return f"It won the race: {sure}, {losers} {better} {race['metric']} over all samples."


def samples_text(label: str, n: int, n_known: int) -> str:
    """Return the samples of a mean: `label`, or the number of its samples with a value, such as "9 of 10 samples"."""
    if n == n_known:
        return label
    suffix = "" if label == "all samples" else f" of {label}"
    return f"{n:,} of {n_known:,} samples{suffix}"


def _recommend_best(choice: Choice, metric: str, by: tuple[str, str], name: Name) -> Prose:
    """Recommend the cell with the best mean. `by` is the metric with its direction, and the samples."""
    mean, context = _value(choice, choice.cell), _context(choice, name)
    directed, samples = by
    n_cells, n_others = len(choice.compared), len(choice.compared) - len(choice.tied[0])
    if not n_others:
        cells = "Both cells" if n_cells == 2 else f"All {n_cells} cells"
        return prose(
            "Take ",
            name(choice.cell),
            f". {cells} have the same {metric} for every sample ({mean}).{_context_sentence(context)}",
        )
    first = f". It has the best {directed}: {mean} over {samples}{',' if context else ''}{context}"
    if len(choice.tied) == 1:
        return prose("Take ", name(choice.cell), f"{first}, and ", _worse_cells(choice, name), ".")
    head = prose("Take ", name(choice.cell), f"{first}.")
    return head + prose(
        "It does not differ significantly from ", _tied_cells(choice, metric, name), f"{_exclusion_reason(choice)}."
    )


def _exclusion_reason(choice: Choice) -> str:
    """Explain why no cell that may also be the best is the recommended one."""
    if choice.n_tied - len(choice.tied[0]) == 1 and len(choice.near) == 1:
        return ", which is more than one standard error worse"
    if _are_costs_unknown(choice):
        return ""
    if choice.n_tied - len(choice.tied[0]) == 1:
        return f", which is not noticeably {_kind(choice)}er"
    return f". No cell within one standard error is noticeably {_kind(choice)}er"


def _context_sentence(context: str) -> str:
    return context.replace(" with ", " It takes ", 1) + "." if context else ""


def _worse_cells(choice: Choice, name: Name) -> str:
    others = _other_cells(choice)
    if len(others) == 1:
        return f"{_single_other(choice, name)} is significantly worse"
    return _ALL_WORSE if len(choice.tied[0]) == 1 else _ALL_WITH_OTHER_SCORES_WORSE


def _tied_cells(choice: Choice, metric: str, name: Name) -> str:
    n_tied, n_others = choice.n_tied - len(choice.tied[0]), len(_other_cells(choice))
    if n_others == 1:
        return _single_other(choice, name)
    n_equal = len(choice.tied[0]) - 1
    equal = f" ({n_equal} more {'has' if n_equal == 1 else 'have'} the same {metric})" if n_equal else ""
    share = f"any of the {n_others}" if n_tied == n_others else f"{n_tied} of the {n_others}"
    return f"{share} other cells{equal}"


def _other_cells(choice: Choice) -> list[CellResult]:
    """Return the cells that differ from the best one in some sample."""
    return [cell for cell in choice.compared if cell not in choice.tied[0]]


def _single_other(choice: Choice, name: Name) -> str:
    """Name the only cell that differs from the best one; of two cells it is "the other cell"."""
    return "the other cell" if len(choice.compared) == 2 else name(_other_cells(choice)[0])


def _recommend_cheaper(choice: Choice, metric: str, by: str, name: Name) -> Prose:
    """Recommend a cheaper cell than the one with the best mean."""
    chosen, best = choice.cell, choice.best
    many = f"{choice.n_near} of {count(len(choice.compared), 'cell')}"
    first = f". {_describe_saving(choice)} among the cells within one standard error of the best {by} ({many})."
    means = f"Its {metric} is {_value(choice, chosen)}; the best mean is {_value(choice, best)} ({name(best)})."
    return prose("Take ", name(chosen), first) + prose(means) + prose(_saving(choice, name))


def _describe_saving(choice: Choice) -> str:
    options = [cell for group in choice.near for cell in group]
    if choice.saves_tokens and (cost := choice.tokens):
        fewest = min(cost.measure(cell) or 0.0 for cell in options)
        return f"It has {'' if (cost.measure(choice.cell) or 0.0) <= fewest else 'nearly '}the fewest tokens"
    fastest = min(cell.latency_s.get("p50", 0.0) for cell in options)
    return f"It is {'' if choice.cell.latency_s.get('p50', 0.0) <= fastest else 'one of '}the fastest"


def _saving(choice: Choice, name: Name) -> str:
    """Return the saving, such as "It takes 207 instead of 444 tokens of passages per prompt."."""
    chosen, best = choice.cell, choice.best
    if choice.saves_tokens and (cost := choice.tokens):
        return f"It takes {cost.measure(chosen) or 0.0:,.0f} instead of {cost.measure(best) or 0.0:,.0f} {cost.head}."
    seconds, best_seconds = (duration(cell.latency_s.get("p50", 0.0)) for cell in (chosen, best))
    return f"It takes {seconds} instead of {best_seconds} per question{_context(choice, name)}."


def _context(choice: Choice, name: Name) -> str:
    """Return the tokens of context, such as " with 3,243 tokens of context per question (the cell 64 has 206)".

    Compares with the cell that has the fewest tokens, or the most if the recommended cell itself has few. Returns "" if
    all cells have about as many, or if the numbers are unknown.
    """
    n_chosen = passage_tokens(choice.cell)
    known = [(n, cell) for cell in choice.compared if (n := passage_tokens(cell)) is not None]
    if n_chosen is None or not known:
        return ""
    fewest, most = (pick(known, key=lambda pair: pair[0]) for pick in (min, max))
    n, other = fewest if n_chosen > fewest[0] * UNLIKE else most
    if max(n, n_chosen) <= min(n, n_chosen) * UNLIKE:
        return ""
    return f" with {n_chosen:,.0f} tokens of context per question (the cell {name(other)} has {n:,.0f})"


def _cells_with_equal_values(choice: Choice, metric: str, name: Name) -> Prose:
    """Return the cells that the metric does not distinguish, and the gold that each brings if that differs."""
    least = choice.least_covered
    if least is None:
        equal = _equal(choice, metric)
        return prose(equal) if equal else prose()
    coverage, other = choice.cell.value(COVERAGE) or 0.0, least.value(COVERAGE) or 0.0
    return prose(
        f"{name(least)} has the same {metric} for every sample, but brings {other:.0%} of the gold into the prompt; ",
        name(choice.cell),
        f" brings {coverage:.0%}.",
    )


def _equal(choice: Choice, metric: str) -> str:
    n_equal = len(choice.equal) - 1
    if not n_equal or n_equal + 1 == len(choice.compared):
        return ""
    if are_draws(choice.equal):
        return f"Its value is the mean over {len(choice.equal)} draws."
    verb = "has" if n_equal == 1 else "have"
    return f"{count(n_equal, 'other cell')} {verb} the same {metric} for every sample."


def _value(choice: Choice, cell: CellResult) -> str:
    value = choice.means[cell.cell_id]
    return number(value, count_decimals([value]))


def _kind(choice: Choice) -> str:
    return "cheap" if choice.weighs_tokens else "fast"


def _are_costs_unknown(choice: Choice) -> bool:
    return choice.tokens is None and not any(cell.latency_s.get("p50") for cell in choice.compared)
