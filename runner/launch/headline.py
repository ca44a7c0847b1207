"""Chooses the metric that ranks the cells of a sweep."""

from collections.abc import Iterable, Sequence

from components.directions import metric_larger_is_better
from components.errors import ConfigError
from components.limits import expected_one_of
from components.protocols import AnswersFrom, ContextMetric, RankingMetric
from components.records import Sample
from runner.engine.store import Store
from runner.output.planned_metric import PlannedMetric, PlannedMetrics
from runner.pipeline.cell import Cell
from runner.pipeline.corpus.loaded_data import DatasetStages
from runner.pipeline.planned_cells import PlannedCell
from runner.pipeline.scoring.answerable_questions import gives_passages
from runner.results.cell_axes import WHOLE_GOLD_ADVICE, count_whole_gold, varies_chunks, varying_axes
from runner.results.leaderboard_order import COVERAGE, HEADLINES, TOKENS_METRIC

_CONTAINS = "contains_all"
_NOTHING = (
    "no question has gold or a reference, and no judge grades: no metric can tell which cell is better. "
    "docs/own-data.md#questions-without-answers"
)
_OTHER_HINT = "(set run.headline to use another metric)"


def planned_headline(cells: Sequence[PlannedCell], store: Store) -> tuple[str, list[str]]:
    """Return the metric that ranks the planned cells, "" for the default order, and a line that explains it.

    A line also says that nothing can rank the cells. There is no line if the user named the metric or the order is the
    default. `choose_headline` chooses the metric, with two exceptions. A metric of retrieval is replaced if less than
    half of the samples have gold. The first metric of answers that at least half of the samples can have then takes its
    place. A metric that does not see a swept axis is replaced too: see `_coverage_axes`.
    """
    configs = [cell.request.cell for cell in cells]
    data = {cell.graph.data.key: cell.graph.data for cell in cells}
    if not configs[0].run.headline and _lacks_measures(configs, data.values()):
        return choose_headline(configs), [_NOTHING]
    n_samples = sum(each.n_samples for each in data.values())
    n_with_parts = sum(int(each.notes.get("n_samples_with_answer_parts") or 0) for each in data.values())
    name = choose_headline(configs, has_answer_parts=n_with_parts > 0 and 2 * n_with_parts >= n_samples)
    if not name or configs[0].run.headline:
        return name, []
    if name == _CONTAINS:
        return name, [f"ranked by {name}: the questions list what an answer must contain {_OTHER_HINT}"]
    n_gold = sum(_n_with_gold(each) for each in data.values())
    if 2 * n_gold < n_samples and (answers := _answer_headline(cells, next(iter(data.values())), store)):
        few = f"only {n_gold:,} of {n_samples:,} samples have gold in the corpus, which {name} needs"
        return answers, [f"ranked by {answers}: {few} {_OTHER_HINT}"]
    no_model = "no language model answers or judges"
    if coverage_axes := _coverage_axes(name, cells, store):
        unseen, samples = coverage_axes
        return COVERAGE, [
            f"ranked by {COVERAGE}: {no_model}, and {name} does not depend on {' or '.join(unseen)} {_OTHER_HINT}",
            f"{COVERAGE} grows with the prompt, so read it together with {TOKENS_METRIC}",
            *_whole_gold(cells, samples),
        ]
    return name, [f"ranked by {name}: {no_model} {_OTHER_HINT}"]


def _coverage_axes(name: str, cells: Sequence[PlannedCell], store: Store) -> tuple[list[str], Sequence[Sample]] | None:
    """Return the axes that change `passage_coverage` but not the retrieval metric `name`, and the samples.

    Returns None if all axes change the metric `name`, or if fewer samples have a value of `passage_coverage` than lack
    one.
    """
    data = next(iter({cell.graph.data.key: cell.graph.data for cell in cells}.values()))
    metrics = PlannedMetrics([cell for cell in cells if cell.graph.data.key == data.key], data, store)
    if (
        name not in metrics.by_name
        or COVERAGE not in metrics.by_name
        or not (planned := metrics.plan_metric(name)).cells
    ):
        return None
    sharper = metrics.find_more_sensitive(planned, [COVERAGE])
    if not sharper or 2 * len(sharper.rows) < len(planned.rows):
        return None
    unseen = [axis for axis in planned.unseen_axes() if axis not in sharper.unseen_axes()]
    return (unseen, metrics.samples) if unseen else None


def _whole_gold(cells: Sequence[PlannedCell], samples: Sequence[Sample]) -> list[str]:
    """Return a warning if chunks are compared by how much of whole documents they bring into the prompt."""
    counts = count_whole_gold([unit.start for unit in sample.gold] for sample in samples)
    if not counts or not varies_chunks(varying_axes([cell.axes for cell in cells])):
        return []
    return [f"the gold of {counts[0]:,} of {counts[1]:,} samples is whole documents: {WHOLE_GOLD_ADVICE}"]


def _lacks_measures(cells: Sequence[Cell], data: Iterable[DatasetStages]) -> bool:
    """Return True if no sample has gold, a reference or another expected answer, and no judge grades."""
    return not any(cell.judge.scores for cell in cells) and all(
        not _n_with_gold(each)
        and each.notes.get("n_samples_without_reference") == each.n_samples
        and not any(each.notes.get(name) for name in ("n_samples_with_answer_parts", "n_samples_unanswerable"))
        for each in data
    )


def _n_with_gold(data: DatasetStages) -> int:
    return data.n_samples - int(data.notes.get("n_samples_without_gold_in_corpus") or 0)


def _answer_headline(cells: Sequence[PlannedCell], data: DatasetStages, store: Store) -> str:
    """Return the first metric of answers that half of the samples of a data set can have, or "" if no metric has that
    many.
    """
    if all(cell.request.cell.answerer.answers_from is AnswersFrom.NOTHING for cell in cells):
        return ""
    metrics = PlannedMetrics([cell for cell in cells if cell.graph.data.key == data.key], data, store)
    retrieval_kinds = (RankingMetric, ContextMetric)
    names = [name for name in HEADLINES if not isinstance(metrics.by_name.get(name), retrieval_kinds)]
    return next((each.name for each in metrics.ranking(names) if 2 * len(each.rows) >= data.n_samples), "")


def choose_headline(cells: Sequence[Cell], *, has_answer_parts: bool = False) -> str:
    """Return `run.headline`. If it is empty, return "" for the default order, or the metric of an exception.

    Handles given passages and answer parts; `planned_headline` handles the other two exceptions of
    docs/run-settings.md.

    If no language model answers or judges, return the first metric of retrieval, because the answers of a stand-in say
    little about a pipeline. This does not apply to given passages: for them, retrieval metrics only measure the input.

    If answers rank the cells, and at least half of the questions list what they must contain (`has_answer_parts`),
    return `contains_all`.
    """
    if named := cells[0].run.headline:
        return named
    asks = any(cell.answerer.answers_from is AnswersFrom.MESSAGES or cell.judge.scores for cell in cells)
    is_given = any(gives_passages(arm) for cell in cells if cell.pipeline.is_built_in for arm in cell.retriever.arms)
    if asks or is_given:
        is_computed = any(_CONTAINS in cell.computed_metrics for cell in cells)
        return _CONTAINS if has_answer_parts and is_computed and not any(cell.judge.scores for cell in cells) else ""
    retrieval_metrics = [{**cell.metrics.ranking_metrics, **cell.metrics.context_metrics} for cell in cells]
    names = {name for metrics in retrieval_metrics for metric in metrics.values() for name in metric.names}
    return next((name for name in HEADLINES if name in names), "")


def named_metric(metrics: PlannedMetrics, name: str, headline: str, setting: str) -> PlannedMetric | None:
    """Return the metric that a setting names, or for "" the metric that ranks the cells; None if none can have a value.

    Raises ConfigError for a name that no cell computes.
    """
    if not name:
        return metrics.first([headline, *HEADLINES, *metrics.by_name])
    if name not in metrics.by_name:
        raise ConfigError([f"{setting}: got {name!r}{expected_one_of(name, metrics.by_name)}"])
    return metrics.plan_metric(name)


def headline_problems(cells: Sequence[Cell]) -> list[str]:
    """Return an error message for a `run.headline` that no cell computes, or that cannot rank cells."""
    headline = cells[0].run.headline if cells else ""
    if not headline:
        return []
    computed = {name: metric for cell in cells for name, metric in cell.computed_metrics.items()}
    directions = {name: metric_larger_is_better(metric, name) for name, metric in computed.items()}
    if directions.get(headline) is not None:
        return []
    ranking = [name for name, direction in directions.items() if direction is not None]
    if headline in directions:
        why = f"{headline} cannot rank cells: neither larger nor smaller is better"
        return [f"run.headline: {why}. Choose one of {', '.join(ranking)}"]
    return [f"run.headline: got {headline!r}{expected_one_of(headline, ranking)}"]
