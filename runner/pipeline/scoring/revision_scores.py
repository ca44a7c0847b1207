"""Scores of revised answers, by the verdicts of the reviser."""

from collections.abc import Sequence

from components.means import mean_scores
from components.metrics.interval import Intervals
from components.protocols import AnyReviser, Metric, Reviser
from components.records import AnswerState, Scores, ScoreState
from components.revisers.scores import LENGTHS, SHARES, SupportedAfter, score_support
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.revising import RevisedPart, Revision, read_revisions
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.scoring.score_stages import SCORING, Scoring, scoring


class RevisionScores(Stage[Scoring], kind="revision_scores", version=1, work=Work.BENCHMARK):
    """The shares of supported and of revised answers, and the characters before and after. Failed answers are excluded
    and counted.
    """

    codec = SCORING

    interval: Intervals
    samples: Stage[SampleSet]
    parts: tuple[RevisedPart, ...]

    def make(self, run: Run) -> Scoring:
        """Score the revisions, without requests to a model."""
        samples, revisions = run.read(self.samples).samples, read_revisions(run, self.parts)
        rows = [revisions.get(sample.id) for sample in samples]
        values = {
            "supported_before": [score_support(revision.check) if revision else _FAILED for revision in rows],
            "revised": [
                float(revision.answer.text != revision.first.text) if revision else _FAILED for revision in rows
            ],
            "characters_before": [float(len(revision.first.text)) if revision else _FAILED for revision in rows],
            "characters_after": [float(len(revision.answer.text)) if revision else _FAILED for revision in rows],
        }
        scores = {name: _scores(rows, column) for name, column in values.items()}
        return scoring(
            samples,
            [(metric, {name: scores[name] for name in metric.names}) for metric in (SHARES, LENGTHS)],
            self.interval,
        )


_FAILED = ScoreState.ANSWER_ERROR


def _scores(rows: Sequence[Revision | None], values: Sequence[float | ScoreState]) -> Scores:
    has_failed = [revision is None or revision.first.state is AnswerState.ERROR for revision in rows]
    return mean_scores([_FAILED if failed else value for failed, value in zip(has_failed, values, strict=True)])


def revision_metrics(reviser: AnyReviser) -> tuple[Metric, ...]:
    """Return the metrics that come with a reviser."""
    if not isinstance(reviser, Reviser):
        return ()
    return SHARES, LENGTHS, *((SupportedAfter(reviser),) if reviser.checks_again else ())
