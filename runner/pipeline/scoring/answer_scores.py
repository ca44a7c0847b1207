"""Scoring answers: references and answers are taken apart once per form, for all metrics that compare by it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.metrics.interval import Intervals
from components.protocols import AnswerMetric, TextForm
from components.records import Answer, Sample, TextsWithUnits, Units
from components.text.units import number_units, take
from runner.engine.codecs import Codec, Columns
from runner.engine.stage import Stage, StageGroup, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import Samples, SampleSet
from runner.pipeline.scoring.score_stages import SCORING, Scoring, rows_to_score, scoring, spread

Rows = Sequence[int]


@dataclass(frozen=True, eq=False)
class ReferenceUnits(Stage[Units]):
    """The references of all samples in a row, taken apart by a form: once for all answers."""

    kind: ClassVar[str] = "reference_units"
    in_words: ClassVar[str] = "words of references"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Units]] = Columns(Units)

    form: TextForm
    samples: Samples

    def make(self, run: Run) -> Units:
        """Numbers the units."""
        samples = run.read(self.samples).samples
        return number_units(self.form.units([reference for sample in samples for reference in sample.references]))


@dataclass(frozen=True, eq=False)
class AnswerUnits(Stage[Units]):
    """The answers, taken apart by a form."""

    kind: ClassVar[str] = "answer_units"
    in_words: ClassVar[str] = "words of answers"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Codec[Units]] = Columns(Units)

    form: TextForm
    answers: Stage[Sequence[Answer]]

    def make(self, run: Run) -> Units:
        """Numbers the units."""
        return number_units(self.form.units([answer.text for answer in run.read(self.answers)]))


@dataclass(frozen=True)
class WholeTexts(StageGroup):
    """For a metric that compares whole texts."""

    def read_answers(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """The answers, without units."""
        return TextsWithUnits(texts)

    def read_references(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """The references, without units."""
        return TextsWithUnits(texts)


@dataclass(frozen=True)
class TextsInForm(StageGroup):
    """For a metric that compares the units of a form."""

    references: ReferenceUnits
    answers: AnswerUnits

    def read_answers(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """The answers of these rows with their units."""
        return TextsWithUnits(texts, take(run.read(self.answers), rows))

    def read_references(self, run: Run, texts: Sequence[str], rows: Rows) -> TextsWithUnits:
        """The references at these places with their units."""
        return TextsWithUnits(texts, take(run.read(self.references), rows))


ComparedTexts = WholeTexts | TextsInForm


@dataclass(frozen=True, eq=False)
class AnswerScores(Stage[Scoring]):
    """What the answers are worth. Failed ones are left out and counted; empty and refused ones count as empty texts."""

    kind: ClassVar[str] = "answer_scores"
    version: ClassVar[int] = 2
    work: ClassVar[Work] = Work.BENCHMARK
    codec: ClassVar[Columns[Scoring]] = SCORING

    metrics: Mapping[str, AnswerMetric]
    interval: Intervals
    samples: Stage[SampleSet]
    answers: Stage[Sequence[Answer]]
    texts: Mapping[str, ComparedTexts]

    def make(self, run: Run) -> Scoring:
        """Scores them by every metric."""
        samples, answers = run.read(self.samples).samples, run.read(self.answers)
        rows, states = rows_to_score(answers)
        answered = [samples[row] for row in rows]
        answer_texts = [answers[row].text for row in rows]
        reference_texts = [reference for sample in answered for reference in sample.references]
        places = _places_of_references(samples, rows)
        scored = []
        for name, metric in self.metrics.items():
            texts = self.texts[name]
            scores = metric.score_answers(
                answered,
                texts.read_answers(run, answer_texts, rows),
                texts.read_references(run, reference_texts, places),
            )
            scored.append((metric, {name: spread(score, rows, states) for name, score in scores.items()}))
        return scoring(samples, scored, self.interval)


def answer_scores(
    metrics: Mapping[str, AnswerMetric],
    interval: Intervals,
    samples: Samples,
    reported: Stage[SampleSet],
    answers: Stage[Sequence[Answer]],
) -> AnswerScores:
    """The scores of some metrics; metrics of equal forms share the texts that were taken apart. `reported` are the
    samples with a mark on those that count in no aggregate.
    """
    texts: dict[str, ComparedTexts] = {
        name: TextsInForm(ReferenceUnits(metric.form, samples), AnswerUnits(metric.form, answers))
        if metric.form
        else WholeTexts()
        for name, metric in metrics.items()
    }
    return AnswerScores(metrics, interval, reported, answers, texts)


def _places_of_references(samples: Sequence[Sample], rows: Iterable[int]) -> list[int]:
    """Positions of the references of some samples among those of all samples in a row."""
    last = np.cumsum([len(sample.references) for sample in samples], dtype=np.int64)
    return [place for row in rows for place in range(last[row] - len(samples[row].references), last[row])]
