"""Section: topic x task, if the data have both."""

from dataclasses import dataclass

from analysis.decision import field_matrix as decision
from analysis.decision.field_matrix import MatrixField
from analysis.decision.scenario_scores import MIN_CLUSTERS, MIN_SAMPLES
from analysis.report.answer_section import ReportAnswer
from analysis.report.report_input import ReportSource
from components.subsets import AVERAGE, OVERALL
from runner.console.styled_text import count_decimals

MAX_FIELDS = 400


@dataclass(frozen=True)
class Field:
    """The value of a topic and a task, over `n` samples in `n_clusters` groups.

    `pooled`, with its interval, is shrunk towards topic and task. `share` in [0, 1] is the position of the value
    between the smallest and the largest of the matrix. If some cells are significantly worse, `best` are the names of
    the cells that may be the best.
    """

    value: float | None
    n: int
    n_clusters: int
    pooled: float | None
    pooled_low: float | None
    pooled_high: float | None
    share: float
    best: tuple[str, ...]

    @property
    def has_too_few_samples(self) -> bool:
        """True if there are too few samples to call any cell the best."""
        return self.n < MIN_SAMPLES or self.n_clusters < MIN_CLUSTERS


@dataclass(frozen=True)
class MatrixSection:
    """Values of the cell to take: a row per topic and a column per task, the averages last. An empty field is None.

    `n_tested` fields have enough samples. In `n_shown` of them, some cell is significantly worse.
    """

    cell_id: str
    name: str
    metric: str
    digits: int
    tasks: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Field | None, ...]], ...]
    n_fields: int
    n_tested: int
    n_shown: int
    fewest_samples: int
    fewest_clusters: int
    is_pooled: bool


def gather(source: ReportSource, answer: ReportAnswer) -> MatrixSection | None:
    """Return the section, or None if topics and tasks are missing or too many, or no cells can be compared."""
    scores = source.scores
    if scores is None or scores.metric.subset != OVERALL:
        return None
    cell = next(cell for cell in source.sweep.cells if cell.cell_id == answer.take)
    if sum(name.startswith("matrix/") for name in cell.metrics) > MAX_FIELDS:
        return None
    matrix = decision.topic_task_matrix(source.sweep, scores.metric, cell, alpha=source.alpha, scores=scores)
    if matrix is None:
        return None
    values = [field.value for field in matrix.fields if field.value is not None]
    names = {cell.cell_id: source.names.short_name(cell) for cell in source.sweep.cells}
    inner = [field for field in matrix.fields if AVERAGE not in (field.topic, field.task)]
    return MatrixSection(
        cell.cell_id,
        names[cell.cell_id],
        matrix.metric.metric,
        min(count_decimals(values), 3),
        (*(matrix.labels.get(task, task) for task in matrix.tasks), "All tasks"),
        tuple(
            (
                "All topics" if topic == AVERAGE else matrix.labels.get(topic, topic),
                tuple(_field(matrix.field(topic, task), values, names) for task in (*matrix.tasks, AVERAGE)),
            )
            for topic in (*matrix.topics, AVERAGE)
        ),
        len(inner),
        matrix.n_tested,
        sum(bool(field.best) for field in inner),
        MIN_SAMPLES,
        MIN_CLUSTERS,
        any(field.pooled is not None for field in inner),
    )


def _field(field: MatrixField | None, values: list[float], names: dict[str, str]) -> Field | None:
    if field is None:
        return None
    low, high = min(values, default=0.0), max(values, default=0.0)
    share = 0.0 if field.value is None or high == low else (field.value - low) / (high - low)
    return Field(
        field.value,
        field.n,
        field.n_clusters,
        field.pooled,
        field.pooled_low,
        field.pooled_high,
        round(share, 3),
        tuple(names[cell_id] for cell_id in field.best),
    )
