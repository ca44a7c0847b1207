"""Scores of revised answers, by the verdicts of the reviser."""

from collections.abc import Sequence

from components.means import mean_scores
from components.metrics.interval import Intervals
from components.protocols import AnyReviser, Metric, Reviser
from components.records import AnswerState, Scores, ScoreState
from components.revisers.scores import LENGTHS, SHARES, SupportedAfter, outcome_of
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.revising import RevisedPart, Revision, revisions_of
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
        """Score the revisions. They ask no model."""
        samples, found = run.read(self.samples).samples, revisions_of(run, self.parts)
        rows = [found.get(sample.id) for sample in samples]
        values = {
            "supported_before": [outcome_of(own.check) if own else _FAILED for own in rows],
            "revised": [float(own.answer.text != own.first.text) if own else _FAILED for own in rows],
            "characters_before": [float(len(own.first.text)) if own else _FAILED for own in rows],
            "characters_after": [float(len(own.answer.text)) if own else _FAILED for own in rows],
        }
        scores = {name: _scores(rows, own) for name, own in values.items()}
        return scoring(
            samples,
            [(metric, {name: scores[name] for name in metric.names}) for metric in (SHARES, LENGTHS)],
            self.interval,
        )


_FAILED = ScoreState.ANSWER_ERROR


def _scores(rows: Sequence[Revision | None], values: Sequence[float | ScoreState]) -> Scores:
    has_failed = [own is None or own.first.state is AnswerState.ERROR for own in rows]
    return mean_scores([_FAILED if failed else value for failed, value in zip(has_failed, values, strict=True)])


def revision_metrics(reviser: AnyReviser) -> tuple[Metric, ...]:
    """Return the metrics that come with a reviser."""
    if not isinstance(reviser, Reviser):
        return ()
    return SHARES, LENGTHS, *((SupportedAfter(reviser),) if reviser.checks_again else ())
