"""Stages that score: rankings, contexts and answers, each per sample and per subset."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from components.errors import ComponentError
from components.protocols import Metric
from components.records import AnswerState, Context, Documents, Evidence, Hits, Sample, Scores, ScoreState, Spans
from runner import payloads
from runner.compute.aggregate import Scored, aggregate
from runner.stage import Inputs, Output, Stage


def score_ranking(stage: Stage, inputs: Inputs) -> Output:
    """Document-level metrics of the whole ranking, whatever top_k is. Without retrieval they are not applicable."""
    samples = inputs.read("samples", payloads.decode_samples)
    if not inputs.has("hits"):
        return _scored(stage, samples, [(metric, _not_applicable(metric, len(samples))) for metric in _metrics(stage)])
    documents = inputs.read("corpus", payloads.decode_documents)
    rankings = document_rankings(
        inputs.read("hits", payloads.decode_hits), inputs.read("chunks", payloads.decode_spans), documents
    )
    present = set(documents.ids)
    relevant = [relevant_documents(sample.gold, present) for sample in samples]
    scored = [(metric, metric.score_rankings(rankings, relevant)) for metric in _metrics(stage)]
    return _scored(stage, samples, scored)


def score_context(stage: Stage, inputs: Inputs) -> Output:
    """What of the gold reached the prompt, and what it cost."""
    samples = inputs.read("samples", payloads.decode_samples)
    if not inputs.has("hits"):
        return _scored(stage, samples, [(metric, _not_applicable(metric, len(samples))) for metric in _metrics(stage)])
    documents = inputs.read("corpus", payloads.decode_documents)
    context = inputs.read("context", payloads.decode_context)
    spans = context_spans(context, inputs.read("chunks", payloads.decode_spans))
    scored = [(metric, metric.score_contexts(samples, documents, spans, context)) for metric in _metrics(stage)]
    return _scored(stage, samples, scored)


def score_answers(stage: Stage, inputs: Inputs) -> Output:
    """What the answers are worth. Failed ones are left out and counted; empty and refused ones count as empty texts."""
    samples = inputs.read("samples", payloads.decode_samples)
    answers = inputs.read("answers", payloads.decode_answers)
    rows = [i for i, answer in enumerate(answers) if answer.state is not AnswerState.ERROR]
    answered, texts = [samples[i] for i in rows], [answers[i].text for i in rows]
    scored = []
    for metric in _metrics(stage):
        scores = metric.score_answers(answered, texts)
        scored.append((metric, {name: _spread(score, rows, len(samples)) for name, score in scores.items()}))
    return _scored(stage, samples, scored)


def document_rankings(hits: Hits, chunks: Spans, documents: Documents) -> list[list[str]]:
    """Per query the distinct documents, each at the rank of its best chunk."""
    ids = documents.ids
    return [
        [ids[document] for document in dict.fromkeys(chunks.document[row[row >= 0]].tolist())] for row in hits.chunk
    ]


def relevant_documents(gold: Sequence[Evidence], present: set[str]) -> dict[str, int]:
    """The gold documents that are in the corpus, each with grade 1."""
    return {unit.document_id: 1 for unit in gold if unit.document_id in present}


def context_spans(context: Context, chunks: Spans) -> list[list[tuple[int, int, int]]]:
    """Per sample the (document position, start, end) of every chunk in its context."""
    return [
        list(
            zip(
                *(column[row[row >= 0]].tolist() for column in (chunks.document, chunks.start, chunks.end)), strict=True
            )
        )
        for row in context.chunk
    ]


def _metrics(stage: Stage) -> Sequence[Any]:
    return list(stage.component["metrics"].values())


def _not_applicable(metric: Metric, n_samples: int) -> dict[str, Scores]:
    states = (ScoreState.NOT_APPLICABLE,) * n_samples
    return {name: Scores(np.zeros((n_samples, 2)), states, np.full(n_samples, np.nan)) for name in metric.names}


def _spread(scores: Scores, rows: Sequence[int], n_samples: int) -> Scores:
    """Scores of some samples as scores of all: the others' answers failed."""
    statistics = np.zeros((n_samples, scores.statistics.shape[1]))
    values = np.full(n_samples, np.nan)
    states = [ScoreState.ANSWER_ERROR] * n_samples
    statistics[list(rows)], values[list(rows)] = scores.statistics, scores.values
    for row, state in zip(rows, scores.states, strict=True):
        states[row] = state
    return Scores(statistics, tuple(states), values)


def _scored(stage: Stage, samples: Sequence[Sample], scored: Sequence[tuple[Metric, Mapping[str, Scores]]]) -> Output:
    """The metrics per subset as JSON, and the scores per sample as a table."""
    flat: dict[str, Scored] = {}
    for metric, scores in scored:
        if set(scores) != set(metric.names):
            raise ComponentError(
                f"{type(metric).__name__}: got {sorted(scores)}, wanted one Scores for each of {list(metric.names)}"
            )
        flat |= {name: Scored(metric, score) for name, score in scores.items()}
    metrics = aggregate(flat, samples, stage.component["interval"])
    return Output({"metrics": metrics, "scores": _score_table(flat)})


def _score_table(flat: Mapping[str, Scored]) -> pa.Table:
    """`score/<metric>` (null where there is no value), `score_state/<metric>`, and for metrics that exist for a corpus
    only their summands in `score_statistics/<metric>`.
    """
    columns: dict[str, pa.Array] = {}
    for name, (_, scores) in flat.items():
        columns[f"score/{name}"] = pa.array(scores.values, pa.float64(), from_pandas=True)
        columns[f"score_state/{name}"] = pa.array([state.value for state in scores.states], pa.string())
        if np.isnan(scores.values).all() and ScoreState.VALUE in scores.states:
            columns[f"score_statistics/{name}"] = pa.array(list(scores.statistics), pa.list_(pa.float64()))
    return pa.table(columns)
