"""Stages that score: rankings, contexts and answers, each per sample and per subset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from components.errors import ComponentError
from components.protocols import Metric
from components.records import (
    Answer,
    AnswerState,
    Context,
    Documents,
    Evidence,
    Hits,
    Sample,
    Scores,
    ScoreState,
    Spans,
    TextsWithUnits,
    Units,
)
from components.text.units import number_units, take
from runner.engine.stage import Inputs, Output, Stage
from runner.pipeline import payloads
from runner.pipeline.aggregate import Scored, aggregate
from runner.pipeline.payloads import encode_arrays


def score_ranking(stage: Stage, inputs: Inputs) -> Output:
    """Document-level metrics of the whole ranking, whatever top_k is. Without retrieval they are not applicable."""
    samples = inputs.read("samples", payloads.decode_samples)
    if not inputs.has("hits"):
        return aggregated(
            stage, samples, [(metric, _not_applicable(metric, len(samples))) for metric in _metrics(stage)]
        )
    documents = inputs.read("corpus", payloads.decode_documents)
    rankings = document_rankings(
        inputs.read("hits", payloads.decode_hits), inputs.read("chunks", payloads.decode_spans), documents
    )
    present = set(documents.ids)
    relevant = [relevant_documents(sample.gold, present) for sample in samples]
    scored = [(metric, metric.score_rankings(rankings, relevant)) for metric in _metrics(stage)]
    return aggregated(
        stage, samples, [(metric, _mark_gold_outside_corpus(scores, samples)) for metric, scores in scored]
    )


def score_context(stage: Stage, inputs: Inputs) -> Output:
    """What of the gold reached the prompt, and what it cost."""
    samples = inputs.read("samples", payloads.decode_samples)
    if not inputs.has("hits"):
        return aggregated(
            stage, samples, [(metric, _not_applicable(metric, len(samples))) for metric in _metrics(stage)]
        )
    documents = inputs.read("corpus", payloads.decode_documents)
    context = inputs.read("context", payloads.decode_context)
    spans = context_spans(context, inputs.read("chunks", payloads.decode_spans))
    scored = [(metric, metric.score_contexts(samples, documents, spans, context)) for metric in _metrics(stage)]
    return aggregated(
        stage, samples, [(metric, _mark_gold_outside_corpus(scores, samples)) for metric, scores in scored]
    )


def _mark_gold_outside_corpus(scores: Mapping[str, Scores], samples: Sequence[Sample]) -> dict[str, Scores]:
    """Metrics see the gold that is in the corpus alone: where there is other gold, the state says so."""

    def of_sample(state: ScoreState, sample: Sample) -> ScoreState:
        return ScoreState.NO_GOLD_IN_CORPUS if state is ScoreState.NO_GOLD and sample.gold else state

    return {name: replace(own, states=tuple(map(of_sample, own.states, samples))) for name, own in scores.items()}


def reference_units(stage: Stage, inputs: Inputs) -> Output:
    """The references of all samples in a row, taken apart by a form: once for all answers."""
    samples = inputs.read("samples", payloads.decode_samples)
    references = [reference for sample in samples for reference in sample.references]
    return Output(encode_arrays(number_units(stage.component.units(references))))


def answer_units(stage: Stage, inputs: Inputs) -> Output:
    """The answers, taken apart by a form: once for all metrics that compare by it."""
    answers = inputs.read("answers", payloads.decode_answers)
    return Output(encode_arrays(number_units(stage.component.units([answer.text for answer in answers]))))


def score_answers(stage: Stage, inputs: Inputs) -> Output:
    """What the answers are worth. Failed ones are left out and counted; empty and refused ones count as empty texts."""
    samples = inputs.read("samples", payloads.decode_samples)
    answers = inputs.read("answers", payloads.decode_answers)
    rows, states = rows_to_score(answers)
    answered = [samples[row] for row in rows]
    texts = [answers[row].text for row in rows]
    references = [reference for sample in answered for reference in sample.references]
    of_rows = _rows_of_references(samples, rows)
    scored = []
    for name, metric in stage.component["metrics"].items():
        scores = metric.score_answers(
            answered,
            TextsWithUnits(texts, _units(inputs, f"answer_units/{name}", rows)),
            TextsWithUnits(references, _units(inputs, f"reference_units/{name}", of_rows)),
        )
        scored.append((metric, {name: spread(score, rows, states) for name, score in scores.items()}))
    return aggregated(stage, samples, scored)


def rows_to_score(answers: Sequence[Answer]) -> tuple[list[int], list[ScoreState]]:
    """Positions of the answers that can be scored, and the state that each of the others has for it."""
    why_not = {AnswerState.ERROR: ScoreState.ANSWER_ERROR, AnswerState.NOT_ASKED: ScoreState.NOT_APPLICABLE}
    rows = [row for row, answer in enumerate(answers) if answer.state not in why_not]
    return rows, [why_not.get(answer.state, ScoreState.VALUE) for answer in answers]


def _units(inputs: Inputs, name: str, rows: Sequence[int]) -> Units | None:
    """Those of some texts; None for a metric that compares whole texts."""
    return take(inputs.read(name, payloads.decode_units), rows) if inputs.has(name) else None


def _rows_of_references(samples: Sequence[Sample], rows: Iterable[int]) -> list[int]:
    """Positions of the references of some samples among those of all samples in a row."""
    last = np.cumsum([len(sample.references) for sample in samples], dtype=np.int64)
    return [place for row in rows for place in range(last[row] - len(samples[row].references), last[row])]


def document_rankings(hits: Hits, chunks: Spans, documents: Documents) -> list[list[str]]:
    """Per query the distinct documents, each at the rank of its best chunk."""
    ids = documents.ids
    return [
        [ids[document] for document in dict.fromkeys(chunks.document[row[row >= 0]].tolist())] for row in hits.chunk
    ]


def relevant_documents(gold: Sequence[Evidence], present: set[str]) -> dict[str, int]:
    """The gold documents that are in the corpus, each with the highest grade of its units."""
    grades: dict[str, int] = {}
    for unit in gold:
        if unit.document_id in present:
            grades[unit.document_id] = max(unit.grade, grades.get(unit.document_id, 0))
    return grades


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


def spread(scores: Scores, rows: Sequence[int], states: Sequence[ScoreState]) -> Scores:
    """Scores of some samples as scores of all: the others have no value, for the reason that `states` says."""
    statistics = np.zeros((len(states), scores.statistics.shape[1]))
    values = np.full(len(states), np.nan)
    statistics[list(rows)], values[list(rows)] = scores.statistics, scores.values
    all_states = list(states)
    for row, state in zip(rows, scores.states, strict=True):
        all_states[row] = state
    return Scores(statistics, tuple(all_states), values)


def aggregated(
    stage: Stage, samples: Sequence[Sample], scored: Sequence[tuple[Metric, Mapping[str, Scores]]]
) -> Output:
    """The metrics per subset as JSON, and the scores per sample as a table."""
    flat: dict[str, Scored] = {}
    for metric, scores in scored:
        if set(scores) != set(metric.names):
            raise ComponentError(
                f"{type(metric).__name__}: got {sorted(scores)}, wanted one Scores for each of {list(metric.names)}"
            )
        flat |= {name: Scored(metric, score) for name, score in scores.items()}
    metrics = aggregate(flat, samples, stage.settings["interval"])
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
