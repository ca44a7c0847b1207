"""Builds the trace of a sample in a cell from its row in `samples.parquet`."""

import json
from collections.abc import Iterator, Mapping

from components.forensics.verdicts import Verdict
from components.json_value import Json
from components.records import AnswerState, ScoreState
from runner.output.traces.trace_passages import page_text, passages, place
from runner.output.traces.trace_records import Feedback, SampleTrace, SpanRecord
from runner.results import CellResult
from runner.results.hit_texts import CorpusTexts

_RERANKING_KINDS = ("reranked_hits", "reordered_hits", "selected_hits")
_CONTEXT_KINDS = ("context", "turn_context")
"""Kinds of stages."""

_NOT_SCORED = {
    state.value for state in (ScoreState.NOT_APPLICABLE, ScoreState.NO_GOLD, ScoreState.HELD_OUT, ScoreState.NOT_DRAWN)
}
"""States of samples that cannot have a score, so that traces do not mention it."""

_CAUSE, _NO_FAILURE = "cause_of_failure", "none"
"""A name early in the alphabet: MLflow sorts scores by name, and shows the first three by default."""

Row = Mapping[str, Json]


def sample_trace(row: Row, cell: CellResult, corpus: CorpusTexts | None, verdict: Verdict | None) -> SampleTrace:
    """Return the trace of a sample. Without a `corpus`, passages have positions but no text. `verdict` may be None."""
    answered = row["state"] != AnswerState.NOT_ASKED
    return SampleTrace(
        sample_id=row["id"],
        name=page_text(row["id"]),
        inputs={
            "question": page_text(row["question"]),
            **({"history": history} if (history := _history(row)) else {}),
            "id": page_text(row["id"]),
        },
        answer=page_text(row["answer"]) if answered else "",
        error=page_text(row["error"]),
        spans=tuple(_spans(row, cell, corpus)),
        expectations=_expectations(row),
        feedback=(*([_failure(verdict)] if verdict else []), *_scores(row, cell)),
        tags={name: page_text(row[name]) for name in ("subset", "topic", "task", "kind") if row[name]},
    )


def _history(row: Row) -> list[Json]:
    turns = json.loads(row["history"])
    return [{"question": page_text(turn["question"]), "answer": page_text(turn["answer"])} for turn in turns]


def _spans(row: Row, cell: CellResult, corpus: CorpusTexts | None) -> Iterator[SpanRecord]:
    """Yield spans for the steps that the cell has."""
    if any(kind in cell.seconds for kind in _CONTEXT_KINDS):
        yield from _retrieval(row, cell, corpus)
    if row["state"] != AnswerState.NOT_ASKED:
        yield _generation(row, cell)


def _retrieval(row: Row, cell: CellResult, corpus: CorpusTexts | None) -> Iterator[SpanRecord]:
    """Yield the spans of retrieval. Their seconds are the sample's share of the work for all samples."""
    n_samples = max(cell.dataset.get("n_samples", 1), 1)
    rerank_s, context_s = (
        sum(cell.seconds.get(kind, 0.0) for kind in kinds) / n_samples for kinds in (_RERANKING_KINDS, _CONTEXT_KINDS)
    )
    retrieve_s = max(cell.latency_s.get("batched", 0.0) - rerank_s - context_s, 0.0)
    queries = [page_text(text) for text in row["query"].split("\n")]
    yield SpanRecord(
        "query", "TASK", page_text(row["question"]), queries, attributes={"expander": _axis(cell, "expander")}
    )
    ranked = passages(row, corpus)
    retrieved = ranked
    if is_reranked := _axis(cell, "reranker") not in ("", "none"):
        retrieved = passages(row, corpus, "rank_before_rerank")
    attributes = {"n_found": len(row["retrieved"]), "retriever": _axis(cell, "retriever")}
    yield SpanRecord("retrieve", "RETRIEVER", queries, retrieved, retrieve_s, attributes)
    if is_reranked:
        yield SpanRecord("rerank", "RERANKER", queries, ranked, rerank_s, {"reranker": _axis(cell, "reranker")})
    in_prompt = [passage for passage in ranked if passage["metadata"]["in_context"]]
    attributes = {
        "n_passages": len(in_prompt),
        "context": _axis(cell, "context"),
        "top_k": _axis(cell, "top_k"),
        **{name: row[f"score/{name}"] for name in _measures(row, cell)},
    }
    yield SpanRecord("context", "TOOL", [passage["id"] for passage in ranked], in_prompt, context_s, attributes)


def _axis(cell: CellResult, axis: str) -> str:
    value = cell.axes.get(axis)
    return "" if value is None else str(value)


def _generation(row: Row, cell: CellResult) -> SpanRecord:
    """Return the span of the answer. A stand-in that reads no prompt is not a language model."""
    counted = {"input_tokens": row["n_prompt_tokens"], "output_tokens": row["n_completion_tokens"]}
    tokens = {**counted, "total_tokens": sum(counted.values())} if all(counted.values()) else {}
    model = None if cell.has_own_pipeline else cell.config.get("llm", {}).get("model")
    attributes = {
        **({"pipeline": _axis(cell, "pipeline")} if cell.has_own_pipeline else {"llm": _axis(cell, "llm")}),
        "state": row["state"],
        **({"mlflow.chat.tokenUsage": tokens} if tokens else {}),
        **({"mlflow.llm.model": str(model)} if model else {}),
        **({"thoughts": page_text(row["thoughts"])} if row["thoughts"] else {}),
    }
    kind = "LLM" if row["prompt"] else "TASK"
    return SpanRecord(
        "generate",
        kind,
        inputs=page_text(row["prompt"] or row["question"]),
        outputs=page_text(row["answer"]),
        seconds=row["latency_s"] or 0.0,
        attributes=attributes,
        error=page_text(row["error"]),
    )


def _expectations(row: Row) -> dict[str, Json]:
    """Return the references, under the name that MLflow's scorers read, the gold, and whether it is unanswerable."""
    references = [page_text(text) for text in row["references"]]
    gold = [page_text(place(unit)) for unit in row["gold"]]
    return {
        **({"expected_response": references[0] if len(references) == 1 else references} if references else {}),
        **({"gold": gold} if gold else {}),
        **({"answerable": False} if not row["answerable"] else {}),
    }


def _failure(verdict: Verdict) -> Feedback:
    """Describe the failure of the sample, how far its evidence came, and the outcome of its answer."""
    doubts = f"; uncertain: {', '.join(verdict.doubts)}" if verdict.doubts else ""
    rationale = f"evidence: {verdict.stage.value}; answer: {verdict.outcome.value}{doubts}"
    return Feedback(_CAUSE, verdict.failure.value or _NO_FAILURE, rationale=rationale)


def _measures(row: Row, cell: CellResult) -> list[str]:
    """Return metrics that have no better direction, such as the tokens of a context."""
    return [name for name, larger in cell.larger_is_better.items() if larger is None and f"score/{name}" in row]


def _scores(row: Row, cell: CellResult) -> Iterator[Feedback]:
    """Yield the scores of metrics that have a better direction. A missing score has its reason as error."""
    judges = sorted((name.removeprefix("judge/") for name in row if name.startswith("judge/")), key=len, reverse=True)
    for metric in (name.removeprefix("score/") for name in row if name.startswith("score/")):
        value, state = row[f"score/{metric}"], row[f"score_state/{metric}"]
        if cell.larger_is_better.get(metric) is None or (value is None and not _is_lacking(state)):
            continue
        judge = next((name for name in judges if f"{metric}_".startswith(f"{name}_")), "")
        reply = page_text(row[f"judge/{judge}"] or "") if judge else ""
        yield Feedback(metric.replace("@", "_at_"), value, state if value is None else "", judge, reply)


def _is_lacking(state: str) -> bool:
    """Return True if a missing score should exist. Metrics of a whole corpus have the state VALUE without scores."""
    return state not in _NOT_SCORED and state != ScoreState.VALUE
