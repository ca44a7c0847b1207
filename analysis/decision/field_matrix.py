"""Topic x task: the value of one cell in each matrix field, and where some cells are significantly better."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace

from analysis.decision.scenario_scores import MIN_CLUSTERS, MIN_SAMPLES, ScenarioScores, ScoredCells
from components.statistics import (
    SampleScores,
    benjamini_hochberg,
    best_cells,
    equal_cells,
    equal_cells_p_value,
    selected_level,
)
from components.subsets import AVERAGE, in_order
from runner.results import CellResult, LoadedSweep, SubsetMetric, spans_conditions

ALPHA = 0.05
_MIN_DRAWS, _DRAWS_BEYOND = 1_999, 4
_SEED = 0


@dataclass(frozen=True)
class MatrixField:
    """A topic and a task, or all of either (AVERAGE).

    `value`, with its interval, belongs to the matrix field. `pooled` is the value shrunk towards its topic and
    task; None for margins, and for a matrix without pooling. `n` counts the samples that all cells have, in
    `n_clusters` groups.

    If some cells are significantly worse, `best` has the ids of the cells that may be the best, best mean first;
    otherwise it is empty. `p_adjusted` is None for margins, and for matrix fields with too few samples to test.
    """

    topic: str
    task: str
    n: int
    n_clusters: int
    value: float | None
    low: float | None
    high: float | None
    pooled: float | None
    pooled_low: float | None
    pooled_high: float | None
    best: tuple[str, ...] = ()
    p_adjusted: float | None = None


@dataclass(frozen=True)
class FieldMatrix:
    """Fields with samples, including margins, with the values of the cell `cell_id`.

    Topics and tasks are in the order of their `labels`. Of the matrix fields that name cells, on average at most a
    share `alpha` leaves out a truly best one. If all cells are equally good everywhere, the probability that any field
    names cells is at most `alpha`.
    """

    metric: SubsetMetric
    cell_id: str
    alpha: float
    topics: tuple[str, ...]
    tasks: tuple[str, ...]
    labels: dict[str, str]
    n_tested: int
    fields: tuple[MatrixField, ...]

    def field(self, topic: str, task: str) -> MatrixField | None:
        """Return a matrix field, or None if it has no samples."""
        return next((one for one in self.fields if (one.topic, one.task) == (topic, task)), None)

    def as_record(self) -> dict[str, object]:
        """Return the matrix as plain JSON values."""
        record = asdict(self)
        del record["metric"]
        return {
            "metric": self.metric.metric,
            "fewest_samples": MIN_SAMPLES,
            "fewest_clusters": MIN_CLUSTERS,
            **record,
        }


def topic_task_matrix(
    sweep: LoadedSweep,
    metric: str | SubsetMetric,
    cell: CellResult,
    *,
    alpha: float = ALPHA,
    scores: ScenarioScores | None = None,
) -> FieldMatrix | None:
    """Return the matrix with the values of `cell`; None for data without topics and tasks.

    `scores` are scores that were read already. Raises DataError if neither larger nor smaller values are better.
    """
    scores = scores or ScenarioScores.read(sweep, metric)
    scored_fields = {key: scored for key, subset in _subsets(cell).items() if (scored := scores.in_subset(subset))}
    if not any(AVERAGE not in key for key in scored_fields):
        return None
    # No field names a best cell if cells were tested under different conditions. For margins, `candidates` names the
    # best cells.
    enough = {
        key: scored
        for key, scored in scored_fields.items()
        if scored.has_enough_samples and AVERAGE not in key and not spans_conditions(scored.cells)
    }
    n_draws = max(_MIN_DRAWS, int(_DRAWS_BEYOND * len(enough) / alpha))
    p = [equal_cells_p_value(_distinct_scores(scored), n_resamples=n_draws, seed=_SEED) for scored in enough.values()]
    fields = {key: _field(key, scored, cell, scores.metric.metric) for key, scored in scored_fields.items()}
    for key, adjusted in zip(enough, benjamini_hochberg(p).tolist(), strict=True):
        best = _best(enough[key], selected_level(p, alpha), n_draws) if adjusted <= alpha else ()
        fields[key] = replace(fields[key], p_adjusted=adjusted, best=best)
    labels = {slug: str(text) for slug, text in cell.dataset.get("labels", {}).items()}
    topics, tasks = (_in_order({key[axis] for key in scored_fields}, labels) for axis in (0, 1))
    used = {slug: labels[slug] for slug in (*topics, *tasks) if slug in labels}
    return FieldMatrix(scores.metric, cell.cell_id, alpha, topics, tasks, used, len(enough), tuple(fields.values()))


def _subsets(cell: CellResult) -> dict[tuple[str, str], str]:
    """Return the subset of every matrix field and margin, by topic and task."""
    subsets = {}
    for subset in cell.metrics:
        group, _, slugs = subset.partition("/")
        if group == "matrix":
            topic, _, task = slugs.partition("/")
            subsets[topic, task] = subset
        elif group == "topic":
            subsets[slugs, AVERAGE] = subset
        elif group == "task":
            subsets[AVERAGE, slugs] = subset
    return subsets


def _in_order(slugs: Collection[str], labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return topics or tasks in order, without the margin."""
    return tuple(in_order(set(slugs) - {AVERAGE}, labels))


def _field(key: tuple[str, str], scored: ScoredCells, cell: CellResult, metric: str) -> MatrixField:
    """Return a matrix field that is not tested yet."""
    entry = cell.metrics[scored.scenario.subset].get(metric, {})
    return MatrixField(
        *key,
        scored.n,
        scored.n_clusters,
        value=entry.get("value"),
        low=entry.get("ci_low"),
        high=entry.get("ci_high"),
        pooled=entry.get("pooled"),
        pooled_low=entry.get("pooled_low"),
        pooled_high=entry.get("pooled_high"),
    )


def _distinct_scores(scored: ScoredCells) -> SampleScores:
    """Return the scores of cells that differ in any sample."""
    scores = scored.scores
    return SampleScores(
        scores.statistics[:, list(equal_cells(scores.statistics))], scores.clusters, scores.strata, scores.combine
    )


def _best(scored: ScoredCells, level: float, n_draws: int) -> tuple[str, ...]:
    """Return ids of the cells that may be the best, best mean first."""
    confidence_set = best_cells(
        _distinct_scores(scored), larger_is_better=scored.larger_is_better, alpha=level, n_resamples=n_draws, seed=_SEED
    )
    groups = equal_cells(scored.samples.statistics).values()
    means = scored.orient(scored.samples.means())
    indices = [index for p, same in zip(confidence_set.p, groups, strict=True) if p > level for index in same]
    return tuple(scored.cells[index].cell_id for index in sorted(indices, key=lambda index: -means[index]))
