"""Plans a race: its cells, its samples, its metric, and the settings that it refuses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import nan

import numpy as np
from numpy.typing import NDArray

from components.errors import ConfigError
from components.limits import expected_one_of
from components.protocols import AnswerMetric, JudgedMetric, Metric, RerankerSelection
from components.records import Sample
from components.subsets import OVERALL
from runner.engine.executors.slurm import Slurm
from runner.engine.request_counts import count_max_requests
from runner.engine.store import Store
from runner.launch.headline import named_metric
from runner.output.money import highest_cost, unpriced_models
from runner.output.planned_metric import PlannedMetric, PlannedMetrics
from runner.pipeline.planned_cells import PlannedCell
from runner.pipeline.race_settings import SUBSETS, RaceOpponents, RaceSettings
from runner.pipeline.scoring.aggregate import rows_by_subset
from runner.results.cell_axes import DRAWS

_MATRIX = "matrix/"


@dataclass(frozen=True)
class PlannedRace:
    """A race of `cells`, sorted by id, over the `samples` at `rows`, in the order of the race.

    `uses_model` says for each cell whether it uses a model. A cell without a model costs nothing, and is never stopped.
    `targets` are names of subsets, overall first, with their samples in `members`, bool[n_rows, n_targets]. `costs` are
    planned costs, NaN if unknown; None if opponents may cost more.
    """

    settings: RaceSettings
    metric: str
    larger_is_better: bool
    cells: tuple[PlannedCell, ...]
    rows: tuple[int, ...]
    samples: tuple[Sample, ...]
    uses_model: tuple[bool, ...]
    targets: tuple[str, ...]
    members: NDArray[np.bool_]
    costs: tuple[float, ...] | None


def plan_race(
    cells: Sequence[PlannedCell], headline: str, store: Store, *, is_part: bool = False
) -> PlannedRace | None:
    """Return the race that the cells' settings ask for, or None if they ask for no race, or no cell uses a model.

    `headline` is the metric that ranks the cells. With `is_part`, other processes run other cells. Raises ConfigError
    with the reasons why these cells cannot race.
    """
    settings = cells[0].request.cell.race
    if not settings.enabled:
        return None
    if is_part:
        raise ConfigError(["race: one process must see all cells. Use hydra/launcher=grid, or race=none."])
    uses_model = {cell.cell_id: any(stage.n_requests for stage in cell.graph.result.upstream()) for cell in cells}
    if not any(uses_model.values()):
        _require_computed(cells, settings.metric)
        return None
    if problems := list(_sweep_problems(cells)):
        raise ConfigError(problems)
    metrics = PlannedMetrics(cells, cells[0].graph.data, store)
    planned = named_metric(metrics, settings.metric, headline, "race.metric")
    if planned is None:
        raise ConfigError(["race: no sample can have a value of a metric that ranks cells. Use race=none."])
    if problems := list(_metric_problems(planned)):
        raise ConfigError(problems)
    racing = tuple(sorted(planned.cells, key=lambda cell: cell.cell_id))
    rows = sorted(planned.rows.tolist(), key=lambda row: _draw(settings.seed, metrics.samples[row]))
    samples = tuple(metrics.samples[row] for row in rows)
    targets = _targets(samples, with_subsets=SUBSETS in settings.targets)
    return PlannedRace(
        settings,
        planned.name,
        bool(planned.metric.larger_is_better),
        racing,
        tuple(rows),
        samples,
        tuple(uses_model[cell.cell_id] for cell in racing),
        tuple(targets),
        np.column_stack(list(targets.values())),
        _costs(racing, store) if settings.against is RaceOpponents.COST else None,
    )


def _targets(samples: Sequence[Sample], *, with_subsets: bool) -> dict[str, NDArray[np.bool_]]:
    """Return the samples of each target, bool[n_samples]: overall, and subsets whose samples differ from those of
    earlier targets.

    Matrix fields are not targets, because they have few samples.
    """
    members: dict[str, NDArray[np.bool_]] = {OVERALL: np.ones(len(samples), dtype=np.bool_)}
    for name, rows in rows_by_subset(samples).items() if with_subsets else ():
        mask = np.isin(np.arange(len(samples)), rows)
        if not name.startswith(_MATRIX) and not any(np.array_equal(mask, other) for other in members.values()):
            members[name] = mask
    return members


def _costs(cells: Sequence[PlannedCell], store: Store) -> tuple[float, ...]:
    """Return the maximum cost of each cell with an empty store; NaN if the tokens of a model are unknown.

    Raises ConfigError for models without a price.
    """
    prices = cells[0].request.cell.prices
    stages = [tuple(cell.graph.result.upstream()) for cell in cells]
    if unpriced := unpriced_models(
        [stage for cell_stages in stages for stage in cell_stages if stage.n_requests], prices
    ):
        hint = "is not known. Add it to your price list (docs/budgets.md)"
        raise ConfigError([f"race.against=cost: the price of {model} {hint}" for model in unpriced])
    counts = [count_max_requests(cell_stages, store) for cell_stages in stages]
    return tuple(
        nan if any(count.tokens is None for count in cell_counts) else highest_cost(cell_counts, prices)[0]
        for cell_counts in counts
    )


def _require_computed(cells: Sequence[PlannedCell], metric: str) -> None:
    """Raise ConfigError for a metric that no cell computes, except for ""."""
    names = dict.fromkeys(name for cell in cells for name in cell.request.cell.computed_metrics)
    if metric and metric not in names:
        raise ConfigError([f"race.metric: got {metric!r}{expected_one_of(metric, names)}"])


def _draw(seed: int, sample: Sample) -> bytes:
    """Return the sort key of a sample in the random order. It depends on no other sample."""
    return sha256(f"{seed}\0{sample.id}\0{sample.question}".encode("utf-8", "surrogatepass")).digest()


def _metric_problems(planned: PlannedMetric) -> Iterator[str]:
    """Yield the reasons why cells cannot race by a metric."""
    metric, remedy = planned.metric, "Choose another metric, such as race.metric=rouge_l, or set race=none."
    prefix = f"race.metric: {planned.name}"
    if isinstance(metric, JudgedMetric):
        yield (
            f"{prefix} is graded by a judge, which leaves out answers whose grade cannot be read, so cells "
            f"would race on different answers. The judge still grades the finishers. {remedy}"
        )
    elif not isinstance(metric, AnswerMetric):
        yield f"{prefix} is not an answer metric. {remedy}"
    elif metric.larger_is_better is None:
        yield f"{prefix} cannot rank cells, because neither larger nor smaller is better. {remedy}"
    elif not getattr(metric, "is_share", True):
        yield f"{prefix} has values outside [0, 1], for which the race has no error rate. {remedy}"
    elif not _is_mean(metric, planned.name):
        yield f"{prefix} is not a mean over samples, so a race cannot use it. {remedy}"
    elif not len(planned.rows):
        yield f"{prefix} has no value for any sample. {remedy}"
    elif planned.waits:
        yield f"{prefix} excludes samples by a cell's answers, so cells would race on different samples. {remedy}"


def _is_mean(metric: Metric, name: str) -> bool:
    try:
        means = metric.combine(name, np.array([[3.0, 4.0], [1.0, 2.0]]))
    except Exception:  # noqa: BLE001 - a metric with other statistics than a mean may raise anything
        return False
    return bool(np.array_equal(means, [0.75, 0.5]))


def _sweep_problems(cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Yield the reasons why the cells of this sweep cannot race."""
    configs, data = [cell.request.cell for cell in cells], cells[0].graph.data
    by, headline = configs[0].race.metric, configs[0].run.headline
    if by and headline and by != headline:
        yield f"race.metric={by} and run.headline={headline} differ. Set one: a race's metric ranks the cells."
    if len({cell.graph.data.key for cell in cells}) > 1:
        yield "race: cells of different data sets answer different questions. Run a sweep for each data set."
    if axes := [axis for axis in DRAWS if len({getattr(cell, axis) for cell in configs}) > 1]:
        yield (
            f"race: the leaderboard averages the draws of {axes[0]}, but a race would stop some of them. Use race=none"
        )
    if any(isinstance(cell.reranker, RerankerSelection) for cell in configs):
        yield "race: reranker=selected chooses by all samples, before a race has run them. Use race=none"
    if len(data.n_by_turn) > 1 and any(cell.history.has_rounds for cell in configs):
        yield "race: history=own answers conversations turn by turn, which a race cannot order. Use race=none"
    if isinstance(configs[0].executor, Slurm):
        yield "race: each of its rounds starts workers, which executor=slurm would queue. Use another executor."
