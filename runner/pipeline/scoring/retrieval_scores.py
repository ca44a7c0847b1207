"""Stages that score the ranking of documents, and the gold in the prompt."""

from collections.abc import Mapping, Sequence

from components.gold_copies import GoldCopies, GoldCredit
from components.metrics.interval import Intervals
from components.protocols import ContextMetric, Metric, RankingMetric
from components.records import Context, Documents, Evidence, Hits, Spans
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import SampleSet
from runner.pipeline.scoring.score_stages import SCORING, Scoring, mark_gold_outside_corpus, scoring


class RankingScores(Stage[Scoring], kind="ranking_scores", version=3, work=Work.BENCHMARK):
    """Document-level metrics of the whole ranking, independent of top_k."""

    codec = SCORING

    metrics: Mapping[str, RankingMetric]
    interval: Intervals
    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    hits: Stage[Hits]
    copies: Stage[GoldCopies]

    def make(self, run: Run) -> Scoring:
        """Score the rankings. A copy of the gold counts as gold, except for metrics that are `strict`."""
        samples, documents = run.read(self.samples).samples, run.read(self.corpus)
        rankings = document_rankings(run.read(self.hits), run.read(self.chunks), documents)
        present = set(documents.ids)
        relevant = [relevant_documents(sample.gold, present) for sample in samples]
        credited = GoldCredit(samples, documents, run.read(self.copies)).rankings(rankings)
        scored = [
            (metric, metric.score_rankings(rankings if is_strict(metric) else credited, relevant))
            for metric in self.metrics.values()
        ]
        marked = [(metric, mark_gold_outside_corpus(scores, samples)) for metric, scores in scored]
        return scoring(samples, marked, self.interval)


class ContextScores(Stage[Scoring], kind="context_scores", version=3, work=Work.BENCHMARK):
    """Metrics of the gold in the prompt, and of the context's length."""

    codec = SCORING

    metrics: Mapping[str, ContextMetric]
    interval: Intervals
    samples: Stage[SampleSet]
    corpus: Stage[Documents]
    chunks: Stage[Spans]
    context: Stage[Context]
    copies: Stage[GoldCopies]

    def make(self, run: Run) -> Scoring:
        """Score the contexts. Text in a copy of the gold counts as gold, except for metrics that are `strict`."""
        samples, documents, context = run.read(self.samples).samples, run.read(self.corpus), run.read(self.context)
        spans = context_spans(context, run.read(self.chunks))
        credited = GoldCredit(samples, documents, run.read(self.copies)).spans(spans)
        scored = [
            (metric, metric.score_contexts(samples, documents, spans if is_strict(metric) else credited, context))
            for metric in self.metrics.values()
        ]
        marked = [(metric, mark_gold_outside_corpus(scores, samples)) for metric, scores in scored]
        return scoring(samples, marked, self.interval)


def is_strict(metric: Metric) -> bool:
    """Return True if a metric ignores copies of the gold, according to its `strict`."""
    return bool(getattr(metric, "strict", False))


def document_rankings(hits: Hits, chunks: Spans, documents: Documents) -> list[list[str]]:
    """Return the distinct documents of each sample, each at the rank of its best chunk."""
    ids = documents.ids
    return [
        [ids[document] for document in dict.fromkeys(chunks.document[row[row >= 0]].tolist())] for row in hits.chunk
    ]


def relevant_documents(gold: Sequence[Evidence], present: set[str]) -> dict[str, int]:
    """Return the gold documents in the corpus, each with the highest grade of its units."""
    grades: dict[str, int] = {}
    for unit in gold:
        if unit.document_id in present:
            grades[unit.document_id] = max(unit.grade, grades.get(unit.document_id, 0))
    return grades


def context_spans(context: Context, chunks: Spans) -> list[list[tuple[int, int, int]]]:
    """Return the (document position, start, end) of every chunk in each sample's context."""
    return [
        list(
            zip(
                *(column[row[row >= 0]].tolist() for column in (chunks.document, chunks.start, chunks.end)), strict=True
            )
        )
        for row in context.chunk
    ]
