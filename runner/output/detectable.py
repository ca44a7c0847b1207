"""Before anything is paid: how large a difference between cells the samples will show, and how many samples a small one
would want.
"""

from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.clusters import clusters_of
from components.protocols import Metric
from components.statistics import POWER, Precision, assumed_precision
from runner.display import about
from runner.engine.store import Store
from runner.engine.worker import read_kept
from runner.output.earlier import Earlier, earlier_sweep
from runner.pipeline.answer_scores import AnswerScores
from runner.pipeline.data import Data
from runner.pipeline.judging import JudgedScores
from runner.pipeline.planned import PlannedCell
from runner.pipeline.retrieval_scores import ContextScores, RankingScores
from runner.pipeline.sample_codec import decode_samples
from runner.ranking import HEADLINES

WANTED = 0.02
"""The difference for which the line says how many samples it would want: what papers often report as a gain."""

_DEVIATION = 0.25
_CORRELATION = 0.1
"""Assumed of the differences between two cells. Those of the bundled data have a standard deviation of .06 to .16 for
ROUGE-L and NDCG, of .24 to .39 for passage coverage, and correlate by 0 to .3 within groups of samples.
"""


def detectable_lines(cells: Sequence[PlannedCell], headline: str, results_dir: Path, store: Store) -> Iterator[str]:
    """A line for each data set over which at least two cells can differ in the metric that ranks them."""
    for data in {cell.graph.data.key: cell.graph.data for cell in cells}.values():
        own = [cell for cell in cells if cell.graph.data.key == data.key]
        metrics = _metrics(own)
        ranking = (name for name in (headline, *HEADLINES, *metrics) if name in metrics)
        name = next((name for name in ranking if metrics[name].larger_is_better is not None), "")
        n_different = len(set(_scored_by(own, name)))
        if n_different > 1:
            earlier = earlier_sweep(results_dir, data.key, name, {cell.cell_id for cell in own})
            yield _line(name, metrics[name], n_different, data, earlier, results_dir, store)


def _metrics(cells: Sequence[PlannedCell]) -> dict[str, Metric]:
    """All that are computed, by name."""
    return {name: metric for cell in cells for name, metric in cell.request.cell.computed_metrics.items()}


def _scored_by(cells: Sequence[PlannedCell], name: str) -> Iterator[str]:
    """Keys of the stages that score a metric: cells that share one, as a ranking does under any top_k, are equal."""
    for cell in cells:
        for stage in cell.graph.result.scorings:
            if isinstance(stage, RankingScores | ContextScores | AnswerScores):
                if any(name in metric.names for metric in stage.metrics.values()):
                    yield stage.key
            elif isinstance(stage, JudgedScores) and name in stage.metric.names:
                yield stage.key


def _line(
    name: str, metric: Metric, n_cells: int, data: Data, earlier: Earlier | None, results_dir: Path, store: Store
) -> str:
    is_share = getattr(metric, "is_share", True)
    if earlier:
        precision, source = earlier.precision, f"As measured in {earlier.folder}."
    elif is_share:
        precision = assumed_precision(_clusters(data, store), deviation=_DEVIATION, correlation=_CORRELATION)
        source = (
            f"Assumed, as there is no sweep in {results_dir} in which cells differ in {name} on this data: differences "
            f"with a standard deviation of {_DEVIATION}, correlated by {_CORRELATION} within each of "
            f"{precision.n_clusters} groups of samples."
        )
    else:
        return f"{name}: how large a difference must be to show up can be told after a first sweep of this data."
    sizes = precision.detectable(n_cells)
    if not all(map(isfinite, sizes)):
        return f"{name}: {precision.n_clusters} groups of samples are too few for a difference of any size to show up."
    wanted = f"; {WANTED} would want about {_n_wanted(precision, n_cells, data)}" if is_share else ""
    return (
        f"{name}: with {data.n_samples:,} samples only differences above about {_span(sizes)} will show up "
        f"reliably (any two of {n_cells} cells, {POWER:.0%} power){wanted}. {source}"
    )


def _clusters(data: Data, store: Store) -> NDArray[np.int64]:
    # Of what was loaded for the plan, so that no further stage is run.
    return clusters_of(read_kept(data.samples.data, store, lambda entry: decode_samples(entry.parts()["samples"])))


def _n_wanted(precision: Precision, n_cells: int, data: Data) -> str:
    return _span([data.n_samples * times for times in precision.times_as_many(WANTED, n_cells)])


def _span(numbers: Sequence[float]) -> str:
    """To two digits: "0.02 to 0.03", or "3,200"."""
    low, high = about(min(numbers)), about(max(numbers))
    return low if low == high else f"{low} to {high}"
