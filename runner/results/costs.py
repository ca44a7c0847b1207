"""Costs of a cell: tokens, seconds and money."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from components.records import AnswerState
from runner.results.cell_result import CellResult

CONTEXT_TOKENS = "context_tokens"
"""The metric that counts the tokens of the passages in a prompt, by our own tokenizer."""

EQUALLY_CHEAP = 1.25
"""Cells whose tokens differ by less than this factor cost the same, and seconds decide.

Saving less than a fifth of the tokens is not worth a lower mean.
"""

EQUALLY_FAST_S = 0.1
"""Cells whose seconds per question differ by less are equally fast, because a person does not notice the difference.

Source: Nielsen 1993, "Usability Engineering", chapter 5.5.
"""

PER_COST = 1_000

_STEPS_PER_QUESTION = ("expander", "iterative", "reranker", "compressor", "reviser")
"""Steps that may send requests about each question. A refiner, a header and a graph send theirs once per corpus."""


@dataclass(frozen=True)
class Cost:
    """A kind of cost: its name in options and records, its description, and a function that reads it, None if unknown.

    It covers all samples of a cell, also where quality is measured on a subset.
    """

    name: str
    head: str
    measure: Callable[[CellResult], float | None]


def tokens_per_sample(cell: CellResult) -> float | None:
    """Return the tokens of prompt and completion per sample: see `count_tokens_per_sample`."""
    counts = [count_tokens_per_sample(cell, kind) for kind in ("prompt", "completion")]
    return None if None in counts else sum(filter(None, counts))


def count_tokens_per_sample(cell: CellResult, kind: str) -> float | None:
    """Return the tokens of a kind ("prompt" or "completion") per sample. None if they are unknown.

    Counts successful answers, because tokens of failed ones are not counted, and the steps with a language model
    about each question. A judge is not part of the cost of a pipeline.
    """
    answer_tokens = cell.tokens.get(kind)
    step_tokens = [cell.tokens.get(f"{step}_{kind}", 0) for step in _STEPS_PER_QUESTION]
    if answer_tokens is None or None in step_tokens:
        return None
    return answer_tokens / n_answered(cell) + sum(filter(None, step_tokens)) / count_samples(cell)


def money_per_1000(cell: CellResult) -> float | None:
    """Return the cost of 1,000 samples by the sweep's price lists, without judges, for the samples of
    `count_tokens_per_sample`.
    """
    costs = {part: usage["cost"] for part, usage in cell.usage.items() if not part.startswith("judge/")}
    if None in costs.values():
        return None
    answer_cost = float(costs.pop("answers", 0.0))
    return (answer_cost / n_answered(cell) + float(sum(costs.values())) / count_samples(cell)) * PER_COST


def passage_tokens(cell: CellResult) -> float | None:
    """Return the tokens of the passages in a prompt. A cell that retrieves nothing has 0, although the metric has no
    value. Those of a custom pipeline are unknown.
    """
    retrieves = "top_k" not in cell.axes or cell.axes["top_k"] is not None
    value = cell.value(CONTEXT_TOKENS)
    return 0.0 if value is None and not retrieves and not cell.has_own_pipeline else value


def count_samples(cell: CellResult) -> int:
    """Return the number of samples of a cell, at least 1."""
    return max(sum(cell.counts.values()), 1)


def n_answered(cell: CellResult) -> int:
    """Return the number of successful answers, at least 1: a cell is not cheap because its server failed."""
    return max(sum(cell.counts.values()) - cell.counts.get(AnswerState.ERROR, 0), 1)


def answered_share(cell: CellResult) -> float:
    """Return the share of successful answers that are not empty; 1 if no request was sent."""
    return 1.0 - cell.counts.get(AnswerState.EMPTY, 0) / n_answered(cell)


def cost_per_answer(cost: float | None, share: float) -> float | None:
    """Return the cost per nonempty answer, whose share of all answers is `share`: empty answers do not make a cell
    cheap.

    Infinite if all are empty; None if the cost is unknown.
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
"""Kinds of cost by name. Times exclude loading and scoring a benchmark, as in production."""


def known_costs(cells: Iterable[CellResult], names: Iterable[str] = COSTS) -> list[Cost]:
    """Return the kinds of cost that are known of all cells and are not 0 in all of them."""
    cells = list(cells)
    costs = [(COSTS[name], [COSTS[name].measure(cell) for cell in cells]) for name in names]
    return [cost for cost, values in costs if None not in values and any(values)]


TOKENS = ("tokens", CONTEXT_TOKENS)
"""Token costs by preference: tokens counted by the provider, or else tokens of the passages in a prompt."""


def cheap_indices(tokens: Sequence[float | None], seconds: Sequence[float | None], noise: Sequence[float]) -> list[int]:
    """Return the indices of the cheap cells.

    These have the fewest tokens, where hardly more counts as equal. Of these, they are the fastest, where a difference
    that a person does not notice or that `noise` explains counts as equal. Noise is in seconds: see
    `timing.latency_noise`. A cell with an unknown cost is not excluded by it.
    """
    limit = min((value for value in tokens if value is not None), default=0.0) * EQUALLY_CHEAP
    indices = [index for index, value in enumerate(tokens) if value is None or value <= limit]
    seconds_of = {index: value for index in indices if (value := seconds[index]) is not None}
    if not seconds_of:
        return indices
    fastest = min(seconds_of, key=lambda index: seconds_of[index])
    return [
        index
        for index in indices
        if index not in seconds_of
        or seconds_of[index] == seconds_of[fastest]  # also if both are infinite, as no cell has an answer
        or seconds_of[index] - seconds_of[fastest] <= max(EQUALLY_FAST_S, hypot(noise[index], noise[fastest]))
    ]
