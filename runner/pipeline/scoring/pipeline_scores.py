"""Scores of the passages and the citations of a custom pipeline.

A sample without a value is never a 0. If its request failed, its state is ANSWER_ERROR. If its reply does not say which
passages it used, the metrics are NOT_APPLICABLE. A passage that is not in the corpus keeps its rank and contains no
gold.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from components.gold_copies import GoldCopies, GoldCredit
from components.metrics.interval import Intervals
from components.protocols import CitationMetric, ContextMetric, Metric, RankingMetric
from components.records import Answer, Context, Documents, PassagePlaces, Scores, ScoreState
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.answers.located_passages import PassagePositions, Span
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.scoring.citation_scores import add_copies
from runner.pipeline.scoring.retrieval_scores import is_strict, relevant_documents
from runner.pipeline.scoring.score_stages import (
    SCORING,
    Scoring,
    expand_scores,
    mark_gold_outside_corpus,
    rows_to_score,
    scoring,
)

_NOWHERE = "\x00not in the corpus "
"""Beginning of the names of documents that stand for passages outside the corpus. No document id contains a NUL."""


class PipelinePassageScores(Stage[Scoring], kind="pipeline_passage_scores", version=2, work=Work.BENCHMARK):
    """Metrics of rankings and contexts, from the located passages. All passages count as context."""

    codec = SCORING

    rankings: Mapping[str, RankingMetric]
    contexts: Mapping[str, ContextMetric]
    interval: Intervals
    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    answers: Stage[Sequence[Answer]]
    places: Stage[PassagePositions]
    copies: Stage[GoldCopies]

    def make(self, run: Run) -> Scoring:
        """Score the samples with passages. A copy of the gold counts as gold, except for metrics that are `strict`."""
        samples, documents, places = run.read(self.samples).samples, run.read(self.corpus), run.read(self.places)
        rows, states = _rows(run.read(self.answers), places)
        credit = GoldCredit(samples, documents, run.read(self.copies))
        by_sample = places.spans_by_sample()
        spans: list[list[Span]] = [[span for span in sample_spans if span] for sample_spans in by_sample]
        rankings: list[Sequence[str]] = [_ranking(sample_spans, documents.ids) for sample_spans in by_sample]
        scored_samples, present = [samples[row] for row in rows], set(documents.ids)
        relevant = [relevant_documents(sample.gold, present) for sample in scored_samples]
        scored: list[tuple[Metric, dict[str, Scores]]] = []
        for ranking_metric in self.rankings.values():
            ranked = rankings if is_strict(ranking_metric) else credit.rankings(rankings)
            scores = ranking_metric.score_rankings([ranked[row] for row in rows], relevant) if rows else {}
            scored.append((ranking_metric, scores))
        for metric in self.contexts.values():
            held = spans if is_strict(metric) else credit.spans(spans)
            has_values = rows and not getattr(metric, "reads_tokens", False)
            contexts = [held[row] for row in rows]
            scores = (
                metric.score_contexts(scored_samples, documents, contexts, _context(len(rows))) if has_values else {}
            )
            scored.append((metric, scores))
        return scoring(
            samples,
            [
                (metric, _all_rows(metric, mark_gold_outside_corpus(scores, scored_samples), rows, states))
                for metric, scores in scored
            ],
            self.interval,
        )


class PipelineCitationScores(Stage[Scoring], kind="pipeline_citation_scores", version=1, work=Work.BENCHMARK):
    """Metrics of citations. [1] cites the first passage of a reply."""

    codec = SCORING

    metrics: Mapping[str, CitationMetric]
    interval: Intervals
    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    answers: Stage[Sequence[Answer]]
    places: Stage[PassagePositions]
    copies: Stage[GoldCopies]

    def make(self, run: Run) -> Scoring:
        """Score the citations of the samples with passages."""
        samples, documents, answers = run.read(self.samples).samples, run.read(self.corpus), run.read(self.answers)
        places = run.read(self.places)
        rows, states = _rows(answers, places)
        uncredited = [[PassagePlaces((span,) if span else ()) for span in spans] for spans in places.spans_by_sample()]
        credited = add_copies(samples, uncredited, documents, run.read(self.copies))
        scored_samples, texts = [samples[row] for row in rows], [answers[row].text for row in rows]
        scored = []
        for metric in self.metrics.values():
            passages = [(uncredited if is_strict(metric) else credited)[row] for row in rows]
            scores = metric.score_citations(scored_samples, documents, texts, passages) if rows else {}
            marked = mark_gold_outside_corpus(scores, scored_samples)
            scored.append((metric, _all_rows(metric, marked, rows, states)))
        return scoring(samples, scored, self.interval)


def _rows(answers: Sequence[Answer], places: PassagePositions) -> tuple[list[int], list[ScoreState]]:
    """Return the rows of samples with passages, and the state of every sample."""
    _, states = rows_to_score(answers)
    is_given = places.is_given.tolist()
    states = [
        ScoreState.NOT_APPLICABLE if state is ScoreState.VALUE and not has_passages else state
        for state, has_passages in zip(states, is_given, strict=True)
    ]
    return [row for row, state in enumerate(states) if state is ScoreState.VALUE], states


def _all_rows(
    metric: Metric, scores_by_name: Mapping[str, Scores], rows: Sequence[int], states: Sequence[ScoreState]
) -> dict[str, Scores]:
    """Return the scores of some rows as scores of all. Without scores, no row has a value."""
    if scores_by_name:
        return {name: expand_scores(scores, rows, states) for name, scores in scores_by_name.items()}
    none = [ScoreState.NOT_APPLICABLE if state is ScoreState.VALUE else state for state in states]
    n = len(none)
    return dict.fromkeys(metric.names, Scores(np.zeros((n, 2)), tuple(none), np.full(n, np.nan)))


def _ranking(spans: Sequence[Span | None], ids: Sequence[str]) -> list[str]:
    """Return the distinct documents of passages, each at the rank of its best passage."""
    return list(dict.fromkeys(ids[span[0]] if span else f"{_NOWHERE}{rank}" for rank, span in enumerate(spans)))


def _context(n_samples: int) -> Context:
    """Return contexts of an unknown number of tokens."""
    none = np.zeros(n_samples, dtype=np.int64)
    return Context(np.zeros((n_samples, 0), dtype=np.int32), none, none)
