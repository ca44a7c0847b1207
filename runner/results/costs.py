"""What a cell costs, in the units that it is weighed by: tokens, seconds, money."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from components.records import AnswerState
from runner.results.cell_result import CellResult

CONTEXT_TOKENS = "context_tokens"
"""The metric, as a cost: what the passages take in a prompt, by our own tokenizer."""

EQUALLY_CHEAP = 1.25
"""Cells whose tokens differ by less than this factor cost the same, and seconds decide: saving less than a fifth of the
tokens is not worth a lower mean.
"""

EQUALLY_FAST_S = 0.1
"""Cells whose seconds per question differ by less are equally fast: a person does not notice it. Source: Nielsen 1993,
"Usability Engineering", chapter 5.5.
"""

PER_COST = 1_000


@dataclass(frozen=True)
class Cost:
    """A kind of cost: its name in options and records, what it is, and how a cell's is read: None if not known.

    It is over all of a cell's samples, whatever subset its quality is looked at in.
    """

    name: str
    head: str
    of: Callable[[CellResult], float | None]


def tokens_per_sample(cell: CellResult) -> float | None:
    """Of prompt and completion, as `tokens_of`."""
    counts = [tokens_of(cell, kind) for kind in ("prompt", "completion")]
    return None if None in counts else sum(filter(None, counts))


def tokens_of(cell: CellResult, kind: str) -> float | None:
    """Tokens of a kind ("prompt" or "completion") per sample: of an answer that did not fail, as those of failed ones
    are not counted, and of a reranker that asks a language model; a judge is no part of the pipeline's cost. None if
    they are not known.
    """
    of_answers, of_reranker = cell.tokens.get(kind), cell.tokens.get(f"reranker_{kind}", 0)
    if of_answers is None or of_reranker is None:
        return None
    return of_answers / n_answered(cell) + of_reranker / n_samples(cell)


def money_per_1000(cell: CellResult) -> float | None:
    """By the price lists of the sweep, of the same samples as `tokens_of`; of all but the judges."""
    costs = {part: usage["cost"] for part, usage in cell.usage.items() if not part.startswith("judge/")}
    if None in costs.values():
        return None
    of_answers = float(costs.pop("answers", 0.0))
    return (of_answers / n_answered(cell) + float(sum(costs.values())) / n_samples(cell)) * PER_COST


def passage_tokens(cell: CellResult) -> float | None:
    """Of the passages in a prompt; none in a cell that retrieves nothing, for which the metric has no value."""
    retrieves = "top_k" not in cell.axes or cell.axes["top_k"] is not None
    value = cell.value(CONTEXT_TOKENS)
    return 0.0 if value is None and not retrieves else value


def n_samples(cell: CellResult) -> int:
    """Samples of a cell, at least 1."""
    return max(sum(cell.counts.values()), 1)


def n_answered(cell: CellResult) -> int:
    """Those whose answer did not fail, at least 1: a cell is not cheap because a server gave it no answers."""
    return max(sum(cell.counts.values()) - cell.counts.get(AnswerState.ERROR, 0), 1)


def share_given(cell: CellResult) -> float:
    """Of the answers that did not fail, those that are not empty; 1 where no model was asked."""
    return 1.0 - cell.counts.get(AnswerState.EMPTY, 0) / n_answered(cell)


def per_given(cost: float | None, share: float) -> float | None:
    """A cost per answer that is not empty, where these are a share of all: nothing is cheap because it says nothing.
    Infinite without any; None where the cost is not known.
    """
    return float("inf") if share <= 0 else None if cost is None else cost / share


COSTS: Mapping[str, Cost] = {
    cost.name: cost
    for cost in (
        Cost("tokens", "tokens per sample", tokens_per_sample),
        Cost(CONTEXT_TOKENS, "tokens of passages per prompt", passage_tokens),
        Cost("seconds", "median seconds per question", lambda cell: cell.latency_s.get("p50")),
        Cost("seconds_p95", "seconds per question, 95th percentile", lambda cell: cell.latency_s.get("p95")),
        Cost("one_time_seconds", "seconds once per corpus", lambda cell: cell.one_time_s),
        Cost("cost", "cost per 1,000 samples", money_per_1000),
    )
}
"""By name. Time as a pipeline in production would spend it: what loads and measures a benchmark is in none of them."""


def known_costs(cells: Iterable[CellResult], names: Iterable[str] = COSTS) -> list[Cost]:
    """The kinds that are known of all of the cells and not 0 in every one of them."""
    own = list(cells)
    found = [(COSTS[name], [COSTS[name].of(cell) for cell in own]) for name in names]
    return [cost for cost, values in found if None not in values and any(values)]


TOKENS = ("tokens", CONTEXT_TOKENS)
"""Those asked for or, where no model counted any, of the passages in a prompt."""


def cheap_places(tokens: Sequence[float | None], seconds: Sequence[float | None], noise: Sequence[float]) -> list[int]:
    """Return the places of the cheap ones: the fewest tokens, all with hardly more counted as equal, and of these the
    fastest and all that are not slower by more than a person notices and `noise` explains. Noise is in seconds, as of
    `timing.noise_of_seconds`. An unknown cost does not count against its place.
    """
    most = min((value for value in tokens if value is not None), default=0.0) * EQUALLY_CHEAP
    places = [place for place, value in enumerate(tokens) if value is None or value <= most]
    known = {place: value for place in places if (value := seconds[place]) is not None}
    if not known:
        return places
    fastest = min(known, key=lambda place: known[place])
    return [
        place
        for place in places
        if place not in known
        or known[place] - known[fastest] <= max(EQUALLY_FAST_S, hypot(noise[place], noise[fastest]))
    ]
