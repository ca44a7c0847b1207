"""Which metric ranks the cells of a sweep."""

from collections.abc import Sequence
from difflib import get_close_matches

from components.protocols import AnswersFrom
from runner.pipeline.cell import Cell
from runner.ranking import HEADLINES


def headline_of(cells: Sequence[Cell]) -> str:
    """What `run.headline` names. If it names nothing: "" for the usual order, but the first metric of retrieval where
    no language model answers or judges, as what a baseline writes says little about a pipeline.
    """
    if named := cells[0].run.headline:
        return named
    asks = any(cell.llm.answers_from is AnswersFrom.MESSAGES or cell.judge.scores for cell in cells)
    if asks:
        return ""
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
