"""Stages that score citations by the gold in the cited passages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from components.gold_copies import GoldCopies, GoldCredit
from components.metrics.interval import Intervals
from components.protocols import CitationMetric
from components.records import Answer, ChunkOrigins, Documents, PassagePlaces, Sample, Spans
from components.text.citation_marks import strip_citations
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.answer_stages import AnswersCodec
from runner.pipeline.answers.prompt_passages import RetrievedPassages
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.scoring.retrieval_scores import is_strict
from runner.pipeline.scoring.score_stages import (
    SCORING,
    Scoring,
    expand_scores,
    mark_gold_outside_corpus,
    rows_to_score,
    scoring,
)


class CitationScores(Stage[Scoring], kind="citation_scores", version=1, work=Work.BENCHMARK):
    """The scores of the answers' citations. Failed answers are excluded and counted."""

    codec = SCORING

    metrics: Mapping[str, CitationMetric]
    interval: Intervals
    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    """Chunks in the original texts, which contain the gold."""
    passages: RetrievedPassages
    answers: Stage[Sequence[Answer]]
    copies: Stage[GoldCopies]

    def make(self, run: Run) -> Scoring:
        """Score the citations by every metric. A copy of the gold counts as gold, except for metrics that are
        `strict`.
        """
        samples, documents, answers = run.read(self.samples).samples, run.read(self.corpus), run.read(self.answers)
        rows, states = rows_to_score(answers)
        uncredited = list(self._places(run))
        credited = add_copies(samples, uncredited, documents, run.read(self.copies))
        scored_samples, texts = [samples[row] for row in rows], [answers[row].text for row in rows]
        scored = []
        for metric in self.metrics.values():
            passages = uncredited if is_strict(metric) else credited
            metric_scores = metric.score_citations(scored_samples, documents, texts, [passages[row] for row in rows])
            marked = mark_gold_outside_corpus(metric_scores, scored_samples)
            scored.append((metric, {name: expand_scores(scores, rows, states) for name, scores in marked.items()}))
        return scoring(samples, scored, self.interval)

    def _places(self, run: Run) -> Iterator[list[PassagePlaces]]:
        """Yield the spans of the passages in each sample's prompt."""
        spans = run.read(self.chunks)
        # A chunk of a refined text comes from several places, or from none.
        chunk = spans.chunk if isinstance(spans, ChunkOrigins) else np.arange(len(spans))
        rows = list(zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True))
        for passages in self.passages.chunks_of(run):
            first, last = (
                [np.searchsorted(chunk, passage, side=side).tolist() for passage in passages]
                for side in ("left", "right")
            )
            yield [
                PassagePlaces(tuple(row for low, high in zip(*ends, strict=True) for row in rows[low:high]))
                for ends in zip(first, last, strict=True)
            ]


def add_copies(
    samples: Sequence[Sample], places: Sequence[Sequence[PassagePlaces]], documents: Documents, copies: GoldCopies
) -> list[list[PassagePlaces]]:
    """Return the spans, with the copies of each sample's gold in its passages."""
    owners = [sample for sample, passages in zip(samples, places, strict=True) for _ in passages]
    spans = iter(
        GoldCredit(owners, documents, copies).spans([passage.own for passages in places for passage in passages])
    )
    return [
        [replace(passage, copied=tuple(next(spans)[len(passage.own) :])) for passage in passages] for passages in places
    ]


class UncitedAnswers(Stage[Sequence[Answer]], kind="uncited_answers", version=1, work=Work.BENCHMARK):
    """The answers without their citations, for comparison with references, which have none."""

    codec = AnswersCodec()

    answers: Stage[Sequence[Answer]]

    def make(self, run: Run) -> Sequence[Answer]:
        return [replace(answer, text=strip_citations(answer.text)) for answer in run.read(self.answers)]
