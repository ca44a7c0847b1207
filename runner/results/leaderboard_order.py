"""The order of cells in leaderboards, in the terminal and in MLflow."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from components.json_value import Json
from components.subsets import GROUPINGS, OVERALL
from runner.results.cell_result import OK, CellResult
from runner.results.joined_samples import OWN_MEANS, CommonMeans, common_means
from runner.results.metric_components import larger_is_better

COVERAGE, TOKENS_METRIC = "passage_coverage", "context_tokens"
"""The share of gold in the prompt, and the tokens of its passages. The first grows with the second."""

HEADLINES = (
    "accuracy",
    "overall_f1",
    "nugget_recall",
    "rouge_l",
    "f1",
    "contains_all",
    "right_refusals",
    "error_detection",
    "error_correction",
    "citation_precision",
    "citation_recall",
    "bleu",
    "quest_eval_recall",
    "completeness",
    "faithfulness",
    "answer_relevancy",
    "claim_recall",
    "context_recall",
    "umbrela_ndcg",
    "ndcg@10",
    "mrr",
    "recall@10",
    COVERAGE,
    TOKENS_METRIC,
)
"""Metrics of the leaderboard, as far as they were computed. The first one computed ranks the cells."""

NO_QUALITY = (
    f"{TOKENS_METRIC} does not measure quality, and no other metric of the leaderboard has a value. Without gold, "
    "references or a judge, see docs/own-data.md#questions-without-answers"
)
"""Why no cell can be recommended (see `lacks_quality`)."""

_OF_THE_DATA_SET = ("name", "key", "n_samples", "groups", "corpus")
"""Facts about the data set that leaderboards read."""
N_FIRST = 5
"""Number of headline metrics to show where there is room for only a few, as in MLflow's columns."""


def headlines(cells: Iterable[CellResult], headline: str = "") -> list[str]:
    """Return the headline metrics that were computed, `headline` first if given, custom metrics after the first.

    Tokens come right after the share of gold in the prompt if that ranks the cells, because more tokens raise it.
    Without any headline metric, returns all metrics, those that rank cells first.
    """
    cells = list(cells)
    custom = dict.fromkeys(name for cell in cells for name in cell.own_metrics)
    in_order = dict.fromkeys([headline, *HEADLINES])
    metrics = [name for name in in_order if any(cell.value(name) is not None for cell in cells)]
    metrics[1:1] = [
        name for name in custom if name not in metrics and any(cell.value(name) is not None for cell in cells)
    ]
    if metrics[:1] == [COVERAGE] and TOKENS_METRIC in metrics:
        metrics.remove(TOKENS_METRIC)
        metrics.insert(1, TOKENS_METRIC)
    if not metrics:
        computed = {name for cell in cells for name in cell.metrics.get(OVERALL, {}) if cell.value(name) is not None}
        metrics = sorted(computed, key=lambda name: (larger_is_better(name, cells) is None, name))[: len(HEADLINES)]
    return metrics


def lacks_quality(metrics: Sequence[str], headline: str = "") -> bool:
    """Return True if tokens are the only headline metric with a value, although the user did not choose them.

    The cell with the fewest tokens is the cheapest. The cheapest cell is not a recommendation.
    """
    return list(metrics) == [TOKENS_METRIC] and headline != TOKENS_METRIC


def rank_cells(
    cells: Iterable[CellResult], headline: str = "", common: CommonMeans = OWN_MEANS
) -> tuple[list[str], list[CellResult]]:
    """Return the headline metrics, and the cells sorted by the first of them.

    The best cell comes first, failed cells last. `common` has means over the samples that all cells have. Cells that no
    metric ranks stay in their order.
    """
    cells = list(cells)
    metrics = headlines(cells, headline)
    sign = direction_sign(metrics[0], cells) if metrics else 0

    def place(cell: CellResult) -> tuple[bool, bool, float]:
        value = common.mean(cell, metrics[0]) if metrics else None
        return cell.status != OK, value is None, -sign * (value or 0.0)

    return metrics, sorted(cells, key=place)


def put_leaders_first(ordered: Iterable[CellResult], leaders: Iterable[CellResult]) -> list[CellResult]:
    """Return the rows of a leaderboard with the rows of `leaders` first, the others in their order.

    A row of several draws has the id of its first draw, and the number of the others.
    """
    ids = dict.fromkeys(cell.cell_id for cell in leaders)
    rank_of = {cell_id: rank for rank, cell_id in enumerate(ids)}
    return sorted(ordered, key=lambda cell: rank_of.get(cell.cell_id.partition(" ")[0], len(rank_of)))


def compute_common_means(cells: Iterable[CellResult], sweep_dir: Path, headline: str = "") -> CommonMeans:
    """Compute the first headline metric over the samples that all cells have.

    Raises DataError if the samples cannot be read.
    """
    cells = list(cells)
    metrics = headlines(cells, headline)
    return common_means(cells, lambda cell: sweep_dir / cell.cell_id, metrics[0]) if metrics else OWN_MEANS


def select_ranked_part(cell: CellResult, headline: str = "") -> CellResult:
    """Return the part of a cell that leaderboards read, because a sweep may have thousands of cells.

    It has the metrics over all samples that leaderboards may show. For the data set's own subsets, it has the values of
    metrics that may rank the sweep.
    """
    ranking = _ranking_metrics(cell, headline)
    shown_metrics = {headline, *HEADLINES, *cell.own_metrics, *ranking}
    values = {
        subset: {name: {"value": entries[name]["value"]} for name in ranking if name in entries}
        for subset, entries in cell.metrics.items()
        if subset.partition("/")[0] not in GROUPINGS
    }
    overall = {name: entry for name, entry in cell.metrics.get(OVERALL, {}).items() if name in shown_metrics}
    dataset = {name: cell.dataset[name] for name in _OF_THE_DATA_SET if name in cell.dataset}
    not_shown: dict[str, Json] = {
        name: {} for name in ("config", "seconds", "reused", "versions", "signatures", "host")
    }
    return replace(cell, metrics=values | {OVERALL: overall}, dataset=dataset, **not_shown)


def _ranking_metrics(cell: CellResult, headline: str) -> list[str]:
    """Return the metrics that may rank a sweep with this cell.

    These are the headline metrics up to the first with a value, because other cells may have a value of an earlier one.
    Without a headline metric, these are all metrics.
    """
    overall = cell.metrics.get(OVERALL, {})
    names = [name for name in dict.fromkeys([headline, *HEADLINES]) if name in overall]
    valued = [cell.value(name) is not None for name in names]
    return names[: valued.index(True) + 1] if any(valued) else list(overall)


def direction_sign(metric: str, cells: Iterable[CellResult]) -> int:
    """Return 1 if larger values are better, -1 if smaller values are better, 0 if neither."""
    return {True: 1, False: -1, None: 0}[larger_is_better(metric, cells)]


def best_value(values: Iterable[float | None], sign: int) -> float | None:
    """Return the best value, or None if there are no values or no direction is better."""
    known = [value for value in values if value is not None]
    return max(known, key=lambda value: sign * value) if known and sign else None
