"""Which metric ranks the cells of a sweep."""

from collections.abc import Sequence
from difflib import get_close_matches

from components.protocols import AnswersFrom
from runner.pipeline.cell import Cell
from runner.pipeline.scoring.given_answerable import gives_passages
from runner.results.leaderboard_order import HEADLINES

_CONTAINS = "contains_all"


def headline_of(cells: Sequence[Cell], *, has_answer_parts: bool = False) -> str:
    """What `run.headline` names. If it names nothing: "" for the usual order, with two exceptions.

    Where no language model answers or judges, the first metric of retrieval, as what a baseline writes says little
    about a pipeline; but not where passages are given, as metrics of retrieval then measure what was given. Where
    answers rank the cells, and the data set says what they must contain (`has_answer_parts`), `contains_all`.
    """
    if named := cells[0].run.headline:
        return named
    asks = any(cell.llm.answers_from is AnswersFrom.MESSAGES or cell.judge.scores for cell in cells)
    is_given = any(gives_passages(arm) for cell in cells for arm in cell.retriever.arms)
    if asks or is_given:
        is_computed = any(_CONTAINS in cell.computed_metrics for cell in cells)
        return _CONTAINS if has_answer_parts and is_computed and not any(cell.judge.scores for cell in cells) else ""
    of_retrieval = [{**cell.metrics.of_rankings, **cell.metrics.of_contexts} for cell in cells]
    names = {name for metrics in of_retrieval for metric in metrics.values() for name in metric.names}
    return next((name for name in HEADLINES if name in names), "")


def headline_mistakes(cells: Sequence[Cell]) -> list[str]:
    """A `run.headline` that no cell computes, or that ranks nothing."""
    named = cells[0].run.headline if cells else ""
    if not named:
        return []
    computed = {name: metric for cell in cells for name, metric in cell.computed_metrics.items()}
    directions = {name: metric.larger_is_better for name, metric in computed.items()}
    if directions.get(named) is not None:
        return []
    if named in directions:
        return [f"run.headline: got {named}, of which neither larger nor smaller is better, so it ranks no cells"]
    close = get_close_matches(named, directions, n=1)
    hint = f"did you mean {close[0]}?" if close else f"computed are {', '.join(directions)}"
    return [f"run.headline: got {named!r}, which no cell computes; {hint}"]
