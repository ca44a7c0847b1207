"""Stages that score answers. References and answers are split once per form, for all metrics that compare by it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from components.metrics.interval import Intervals
from components.protocols import AnswerMetric, TextForm
from components.records import Answer, Sample, TextsWithUnits, Units
from components.text.units import number_units, select_units
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples, SampleSet
from runner.pipeline.scoring.score_stages import SCORING, Scoring, expand_scores, rows_to_score, scoring

Rows = Sequence[int]


class ReferenceUnits(
    Stage[Units], kind="reference_units", display_name="words of references", version=1, work=Work.BENCHMARK
):
    """The units of all samples' references by a form, shared by all answers."""

    codec = Columns(Units)

    form: TextForm
    samples: Samples

    def make(self, run: Run) -> Units:
        """Split the references and number their units."""
        samples = run.read(self.samples).samples
        return number_units(self.form.units([reference for sample in samples for reference in sample.references]))


class AnswerUnits(Stage[Units], kind="answer_units", display_name="words of answers", version=1, work=Work.BENCHMARK):
    """The units of the answers by a form."""

    codec = Columns(Units)

    form: TextForm
    answers: Stage[Sequence[Answer]]

    def make(self, run: Run) -> Units:
        """Split the answers and number their units."""
        return number_units(self.form.units([answer.text for answer in run.read(self.answers)]))


@dataclass(frozen=True)
class WholeTexts(StageGroup):
    """Texts for a metric that compares whole texts."""

    def read_answers(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """Return the answers, without units."""
        return TextsWithUnits(texts)

    def read_references(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """Return the references, without units."""
        return TextsWithUnits(texts)


@dataclass(frozen=True)
class TextsInForm(StageGroup):
    """Texts for a metric that compares the units of a form."""

    references: ReferenceUnits
    answers: AnswerUnits

    def read_answers(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """Return the answers of these rows with their units."""
        return TextsWithUnits(texts, select_units(run.read(self.answers), rows))

    def read_references(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """Return the references at these indices, with their units."""
        return TextsWithUnits(texts, select_units(run.read(self.references), rows))


ComparedTexts = WholeTexts | TextsInForm


class AnswerScores(Stage[Scoring], kind="answer_scores", version=2, work=Work.BENCHMARK):
    """The scores of the answers. Failed answers are excluded and counted; empty and refused ones count as empty
    texts.
    """

    codec = SCORING

    metrics: Mapping[str, AnswerMetric]
    interval: Intervals
    samples: Stage[SampleSet]
    answers: Stage[Sequence[Answer]]
    texts: Mapping[str, ComparedTexts]

    def make(self, run: Run) -> Scoring:
        """Score the answers by every metric."""
        samples, answers = run.read(self.samples).samples, run.read(self.answers)
        rows, states = rows_to_score(answers)
        scored_samples = [samples[row] for row in rows]
        answer_texts = [answers[row].text for row in rows]
        reference_texts = [reference for sample in scored_samples for reference in sample.references]
        places = _places_of_references(samples, rows)
        scored = []
        for name, metric in self.metrics.items():
            texts = self.texts[name]
            scores = metric.score_answers(
                scored_samples,
                texts.read_answers(run, answer_texts, rows),
                texts.read_references(run, reference_texts, places),
            )
            scored.append((metric, {name: expand_scores(score, rows, states) for name, score in scores.items()}))
        return scoring(samples, scored, self.interval)


def build_answer_scoring(
    metrics: Mapping[str, AnswerMetric],
    interval: Intervals,
    samples: Samples,
    reported: Stage[SampleSet],
    answers: Stage[Sequence[Answer]],
) -> AnswerScores:
    """Return the stage that computes some metrics. Metrics with equal forms share the split texts.

    `reported` are the samples; samples that aggregates exclude are marked.
    """
    texts: dict[str, ComparedTexts] = {
        name: TextsInForm(ReferenceUnits(metric.form, samples), AnswerUnits(metric.form, answers))
        if metric.form
        else WholeTexts()
        for name, metric in metrics.items()
    }
    return AnswerScores(metrics, interval, reported, answers, texts)


def _places_of_references(samples: Sequence[Sample], rows: Iterable[int]) -> list[int]:
    """Return the positions of some samples' references among the references of all samples."""
    last = np.cumsum([len(sample.references) for sample in samples], dtype=np.int64)
    return [position for row in rows for position in range(last[row] - len(samples[row].references), last[row])]
