"""The last stage of a cell: its metrics, and everything about every sample in one table."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from components.records import Context, Documents, Hits, Sample, ScoreState, Spans
from components.subsets import clusters_of
from runner.engine.stage import Inputs, Output, Stage
from runner.pipeline import payloads
from runner.pipeline.aggregate import first_documents
from runner.pipeline.answers import total

_HITS_TYPE = pa.list_(
    pa.struct(
        [
            ("document_id", pa.string()),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("score", pa.float32()),
            ("in_context", pa.bool_()),
        ]
    )
)


def assemble(stage: Stage, inputs: Inputs) -> Output:
    """`metrics` of all score stages joined, `counts`, the `samples` table, and the matrices' files."""
    samples = inputs.read("samples", payloads.decode_samples)
    labels = inputs.read("samples", payloads.decode_labels)
    answers = inputs.read("answers", payloads.decode_answer_table)
    columns = {**_sample_columns(samples, inputs), **_retrieved(inputs), **_answer_columns(answers)}
    metrics: dict[str, dict[str, Any]] = {}
    tokens = _totals(answers)
    files: dict[str, bytes] = {}
    for name in (name.removeprefix("scores/") for name in inputs.names if name.startswith("scores/")):
        parts = inputs.entry(f"scores/{name}").read()
        for subset, values in parts["metrics"].items():
            metrics.setdefault(subset, {}).update(values)
        columns.update({column: parts["scores"][column] for column in parts["scores"].column_names})
        if "remarks" in parts:
            columns[f"judge/{name.removeprefix('judged_scores/')}"] = parts["remarks"]["remark"]
            for kind in ("prompt", "completion"):
                judged = parts["usage"][f"n_{kind}_tokens"]
                tokens[f"judge_{kind}"] = total([tokens.get(f"judge_{kind}", 0), judged])
        files.update(inputs.entry(f"matrices/{name}").read())
    summary = {
        "metrics": metrics,
        "counts": dict(sorted(Counter(answers["state"].to_pylist()).items())),
        "n_samples": len(samples),
        "tokens": tokens,
        "commonest_errors": _commonest_errors(columns),
        "labels": {slug: labels[slug] for slug in _slugs(samples) if slug in labels},
    }
    return Output({"summary": summary, "samples": pa.table(columns), **files})


def _commonest_errors(columns: Mapping[str, Any]) -> dict[str, str]:
    """The error that most answers, or most judgements of a metric, failed with: by "answers" or the metric."""
    errors = {"answers": [error for error in columns["error"].to_pylist() if error]}
    judges = [name.removeprefix("judge/") for name in columns if name.startswith("judge/")]
    for metric in (name.removeprefix("score_state/") for name in columns if name.startswith("score_state/")):
        own = [judge for judge in judges if f"{metric}_".startswith(f"{judge}_")]
        if own:
            states = columns[f"score_state/{metric}"].to_pylist()
            remarks = columns[f"judge/{max(own, key=len)}"].to_pylist()
            errors[metric] = [r for r, state in zip(remarks, states, strict=True) if state == ScoreState.FAILED]
    return {what: Counter(found).most_common(1)[0][0] for what, found in errors.items() if found}


def _slugs(samples: Iterable[Sample]) -> list[str]:
    """Of the subsets, topics and tasks that the samples have."""
    slugs = [slug for sample in samples for slug in (sample.subset, sample.topic, sample.task) if slug]
    return list(dict.fromkeys(slugs))


def _totals(answers: pa.Table) -> dict[str, int | None]:
    """Tokens that the model's provider counted; None where it counted none for some answer."""
    return {name: total(answers[f"n_{name}_tokens"].to_pylist()) for name in ("prompt", "completion")}


def _sample_columns(samples: tuple[Sample, ...], inputs: Inputs) -> dict[str, pa.Array]:
    gold_type = pa.list_(pa.struct([("document_id", pa.string()), ("start", pa.int32()), ("end", pa.int32())]))
    gold = [[{"document_id": u.document_id, "start": u.start, "end": u.end} for u in s.gold] for s in samples]
    history = [json.dumps([vars(turn) for turn in sample.history], ensure_ascii=False) for sample in samples]
    return {
        "id": pa.array([sample.id for sample in samples], pa.string()),
        "subset": pa.array([sample.subset for sample in samples], pa.string()),
        "kind": pa.array([sample.kind.value for sample in samples], pa.string()),
        "topic": pa.array([sample.topic for sample in samples], pa.string()),
        "task": pa.array([sample.task for sample in samples], pa.string()),
        "question": pa.array([sample.question for sample in samples], pa.string()),
        "query": pa.array(inputs.read("queries", payloads.decode_queries), pa.string()),
        "history": pa.array(history, pa.string()),
        "references": pa.array([list(sample.references) for sample in samples], pa.list_(pa.string())),
        "gold": pa.array(gold, gold_type),
        "cluster": pa.array(clusters_of(first_documents(samples))),
    }


def _retrieved(inputs: Inputs) -> dict[str, pa.Array]:
    """`retrieved`: all hits of a sample, best first, each with place, score and whether it is in the context."""
    if not inputs.has("hits"):
        n_samples = len(inputs.read("samples", payloads.decode_samples))
        return {"retrieved": pa.array([[]] * n_samples, _HITS_TYPE)}
    hits = inputs.read("hits", payloads.decode_hits)
    chunks = inputs.read("chunks", payloads.decode_spans)
    documents = inputs.read("corpus", payloads.decode_documents)
    context = inputs.read("context", payloads.decode_context)
    return {"retrieved": _hit_lists(hits, chunks, documents, context)}


def _hit_lists(hits: Hits, chunks: Spans, documents: Documents, context: Context) -> pa.Array:
    found = hits.chunk >= 0
    chunk = hits.chunk[found]
    rows = np.nonzero(found)[0]
    in_context = np.zeros(hits.chunk.shape, dtype=bool)
    for column in context.chunk.T:
        in_context |= (hits.chunk == column[:, None]) & found
    struct = pa.StructArray.from_arrays(
        [
            pa.DictionaryArray.from_arrays(
                chunks.document[chunk], pa.array(documents.ids, pa.string())
            ).dictionary_decode(),
            pa.array(chunks.start[chunk]),
            pa.array(chunks.end[chunk]),
            pa.array(hits.score[found]),
            pa.array(in_context[found]),
        ],
        fields=list(_HITS_TYPE.value_type),
    )
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(hits)))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), struct)


def _answer_columns(answers: pa.Table) -> dict[str, pa.ChunkedArray]:
    columns = ("prompt", "text", "state", "error", "n_prompt_tokens", "n_completion_tokens", "latency_s")
    return {"answer" if name == "text" else name: answers[name] for name in columns}
