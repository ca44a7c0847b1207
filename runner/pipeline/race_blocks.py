"""The stages that score a cell on a block of the samples.

A block is a data set of some of the samples, with the same corpus, and a cell has the same graph over it as over all
samples. Replies are stored by request, so the stages over all samples find every reply to the samples of a block, and
no key of theirs changes.
"""

from collections.abc import Sequence
from dataclasses import replace

from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import build_graph
from runner.pipeline.corpus.loaded_data import DatasetStages, Samples, SampleSet
from runner.pipeline.scoring.answer_scores import AnswerScores
from runner.pipeline.scoring.score_stages import Scoring


class BlockSamples(Samples, kind="block_samples", version=1):
    """The samples at `rows` of a data set."""

    rows: tuple[int, ...] = ()

    def make(self, run: Run) -> SampleSet:
        """Select the samples."""
        whole = super().make(run)
        return SampleSet(tuple(whole.samples[row] for row in self.rows), whole.labels)


def select_round(data: DatasetStages, rows: Sequence[int]) -> DatasetStages:
    """Return the data set of the samples at `rows`."""
    return replace(data, samples=BlockSamples(data.samples.content, data.loaded, tuple(rows)), n_samples=len(rows))


def build_round_scoring(cell: Cell, block: DatasetStages, pool: DatasetStages | None, metric: str) -> Stage[Scoring]:
    """Return the stage that scores the answers of a cell to a block, by the component of a single metric."""
    scores = {name: each for name, each in cell.metrics.scores.items() if metric in each.names}
    graph = build_graph(replace(cell, metrics=replace(cell.metrics, scores=scores)), block, pool)
    return next(stage for stage in graph.result.scorings if isinstance(stage, AnswerScores))
