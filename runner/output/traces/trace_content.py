"""What is told of a sample in a cell, from its row in `samples.parquet`."""

import json
from collections.abc import Iterator, Mapping

from components.forensics.verdicts import Verdict
from components.json_value import Json
from components.records import AnswerState, ScoreState
from runner.output.traces.trace_passages import passages, place
from runner.output.traces.trace_records import Feedback, SampleTrace, SpanRecord
from runner.output.traces.trace_texts import shown
from runner.results import CellResult
from runner.results.hit_texts import CorpusTexts

_OF_RERANKING = ("reranked_hits", "reordered_hits", "selected_hits")
_OF_CONTEXT = ("context", "turn_context")
"""Kinds of stages."""

_NOT_SCORED = {state.value for state in (ScoreState.NOT_APPLICABLE, ScoreState.NO_GOLD, ScoreState.HELD_OUT)}
"""There is nothing to be told then: no score could have been there."""

_CAUSE, _NO_FAILURE = "cause_of_failure", "none"
"""MLflow shows scores by the alphabet, the first three of them unasked."""

Row = Mapping[str, Json]


def sample_trace(row: Row, cell: CellResult, corpus: CorpusTexts | None, verdict: Verdict | None) -> SampleTrace:
    """`corpus` and `verdict` are None where they are not known: passages are shown by their places alone then."""
    answered = row["state"] != AnswerState.NOT_ASKED
    return SampleTrace(
        sample_id=row["id"],
        name=shown(row["id"]),
        inputs={
            "question": shown(row["question"]),
            **({"history": history} if (history := _history(row)) else {}),
            "id": shown(row["id"]),
        },
        answer=shown(row["answer"]) if answered else "",
        error=shown(row["error"]),
        spans=tuple(_spans(row, cell, corpus)),
        expectations=_expectations(row),
        feedback=(*([_failure(verdict)] if verdict else []), *_scores(row, cell)),
        tags={name: shown(row[name]) for name in ("subset", "topic", "task", "kind") if row[name]},
    )


def _history(row: Row) -> list[Json]:
    turns = json.loads(row["history"])
    return [{"question": shown(turn["question"]), "answer": shown(turn["answer"])} for turn in turns]


def _spans(row: Row, cell: CellResult, corpus: CorpusTexts | None) -> Iterator[SpanRecord]:
    """Only steps that the cell has."""
    if any(kind in cell.seconds for kind in _OF_CONTEXT):
        yield from _retrieval(row, cell, corpus)
    if row["state"] != AnswerState.NOT_ASKED:
        yield _generation(row, cell)


def _retrieval(row: Row, cell: CellResult, corpus: CorpusTexts | None) -> Iterator[SpanRecord]:
    """The seconds are the sample's share of what is done for all samples at once."""
    n_samples = max(cell.dataset.get("n_samples", 1), 1)
    rerank_s, context_s = (
        sum(cell.seconds.get(kind, 0.0) for kind in kinds) / n_samples for kinds in (_OF_RERANKING, _OF_CONTEXT)
    )
    retrieve_s = max(cell.latency_s.get("batched", 0.0) - rerank_s - context_s, 0.0)
    queries = [shown(text) for text in row["query"].split("\n")]
    yield SpanRecord("query", "TASK", shown(row["question"]), queries, attributes={"expander": _of(cell, "expander")})
    ranked = passages(row, corpus)
    retrieved = ranked
    if is_reranked := _of(cell, "reranker") not in ("", "none"):
        retrieved = passages(row, corpus, "rank_before_rerank")
    told = {"n_found": len(row["retrieved"]), "retriever": _of(cell, "retriever")}
    yield SpanRecord("retrieve", "RETRIEVER", queries, retrieved, retrieve_s, told)
    if is_reranked:
        yield SpanRecord("rerank", "RERANKER", queries, ranked, rerank_s, {"reranker": _of(cell, "reranker")})
    in_prompt = [passage for passage in ranked if passage["metadata"]["in_context"]]
    told = {
        "n_passages": len(in_prompt),
        "context": _of(cell, "context"),
        "top_k": _of(cell, "top_k"),
        **{name: row[f"score/{name}"] for name in _measures(row, cell)},
    }
    yield SpanRecord("context", "TOOL", [passage["id"] for passage in ranked], in_prompt, context_s, told)


def _of(cell: CellResult, axis: str) -> str:
    value = cell.axes.get(axis)
    return "" if value is None else str(value)


def _generation(row: Row, cell: CellResult) -> SpanRecord:
    """A baseline that reads no prompt is no language model."""
    counted = {"input_tokens": row["n_prompt_tokens"], "output_tokens": row["n_completion_tokens"]}
    tokens = {**counted, "total_tokens": sum(counted.values())} if all(counted.values()) else {}
    model = cell.config.get("llm", {}).get("model")
    told = {
        "llm": _of(cell, "llm"),
        "state": row["state"],
        **({"mlflow.chat.tokenUsage": tokens} if tokens else {}),
        **({"mlflow.llm.model": str(model)} if model else {}),
        **({"thoughts": shown(row["thoughts"])} if row["thoughts"] else {}),
    }
    asked = shown(row["prompt"] or row["question"])
    kind = "LLM" if row["prompt"] else "TASK"
    return SpanRecord("generate", kind, asked, shown(row["answer"]), row["latency_s"] or 0.0, told, shown(row["error"]))


def _expectations(row: Row) -> dict[str, Json]:
    """What the sample asks for: the reference, under the name that MLflow's own scorers read, and the gold."""
    references = [shown(text) for text in row["references"]]
    gold = [shown(place(unit)) for unit in row["gold"]]
    return {
        **({"expected_response": references[0] if len(references) == 1 else references} if references else {}),
        **({"gold": gold} if gold else {}),
        **({"answerable": False} if not row["answerable"] else {}),
    }


def _failure(verdict: Verdict) -> Feedback:
    """Why the sample failed, with how far its evidence came and what became of its answer."""
    doubts = f"; uncertain: {', '.join(verdict.doubts)}" if verdict.doubts else ""
    told = f"evidence: {verdict.stage.value}; answer: {verdict.outcome.value}{doubts}"
    return Feedback(_CAUSE, verdict.failure.value or _NO_FAILURE, rationale=told)


def _measures(row: Row, cell: CellResult) -> list[str]:
    """Metrics of which neither larger nor smaller values are better, such as the tokens of a context."""
    return [name for name, larger in cell.larger_is_better.items() if larger is None and f"score/{name}" in row]


def _scores(row: Row, cell: CellResult) -> Iterator[Feedback]:
    """All scores that tell better from worse; those that should be there and are not with the reason."""
    judges = sorted((name.removeprefix("judge/") for name in row if name.startswith("judge/")), key=len, reverse=True)
    for metric in (name.removeprefix("score/") for name in row if name.startswith("score/")):
        value, state = row[f"score/{metric}"], row[f"score_state/{metric}"]
        if cell.larger_is_better.get(metric) is None or (value is None and not _is_lacking(state)):
            continue
        judge = next((name for name in judges if f"{metric}_".startswith(f"{name}_")), "")
        said = shown(row[f"judge/{judge}"] or "") if judge else ""
        yield Feedback(metric.replace("@", "_at_"), value, state if value is None else "", judge, said)


def _is_lacking(state: str) -> bool:
    """VALUE without a value is that of a metric that only a corpus has."""
    return state not in _NOT_SCORED and state != ScoreState.VALUE
