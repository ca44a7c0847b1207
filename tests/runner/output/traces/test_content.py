"""The trace of a sample in a cell."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from components.forensics.failures import Failure
from components.forensics.outcomes import Outcome
from components.forensics.stages import EvidenceStage
from components.forensics.verdicts import Verdict
from runner.output.traces.trace_content import sample_trace
from runner.output.traces.trace_passages import page_text
from runner.results import CellResult
from runner.results.hit_texts import CorpusTexts

CORPUS = CorpusTexts(pa.table({"id": ["d1", "d2", "d9"], "text": ["0123456789abcdef", "other text", "nine"]}))
CELL = CellResult(
    cell_id="c1",
    status="OK",
    axes={"retriever": "bm25", "reranker": "none", "top_k": 1, "llm": "gpt", "context": "packed"},
    overrides=(),
    config={"llm": {"model": "gpt-x"}},
    dataset={"n_samples": 2},
    seconds={"sparse_hits": 1.0, "context": 0.5, "reranked_hits": 0.25},
    latency_s={"batched": 1.0},
    larger_is_better={"ndcg@10": True, "f1": True, "bleu": True, "grade": True, "em": True, "context_tokens": None},
)


def hit(document_id: str, start: int, end: int, in_context: bool, **more: Any) -> dict[str, Any]:
    place = {"document_id": document_id, "start": start, "end": end}
    return {**place, "score": 0.5, "in_context": in_context, **more}


ROW: dict[str, Any] = {
    "id": "s1",
    "subset": "qa",
    "kind": "qa",
    "topic": None,
    "task": "facts",
    "question": "What?",
    "history": "[]",
    "references": ["this"],
    "answerable": True,
    "gold": [{"document_id": "d1", "start": 8, "end": 12, "grade": 1}],
    "query": "what\nwhich",
    "retrieved": [hit("d2", 0, 5, False), hit("d1", 4, 10, True, gold_grade=1), hit("d9", 0, 3, False)],
    "prompt": "Answer: What?",
    "state": "ok",
    "answer": "that",
    "error": "",
    "thoughts": "",
    "n_prompt_tokens": 7,
    "n_completion_tokens": 3,
    "latency_s": 2.0,
    "score/ndcg@10": 0.5,
    "score_state/ndcg@10": "value",
    "score/bleu": None,
    "score_state/bleu": "value",
    "score/f1": None,
    "score_state/f1": "answer_error",
    "score/em": None,
    "score_state/em": "not_applicable",
    "score/grade": 1.0,
    "score_state/grade": "value",
    "judge/grade": "well said",
    "score/context_tokens": 12.0,
    "score_state/context_tokens": "value",
}


def test_trace_steps_follow_their_order_with_times() -> None:
    spans = sample_trace(ROW, CELL, CORPUS, None).spans
    assert [(span.name, span.kind, span.seconds) for span in spans] == [
        ("query", "TASK", 0.0),
        ("retrieve", "RETRIEVER", 0.625),
        ("context", "TOOL", 0.25),
        ("generate", "LLM", 2.0),
    ]
    assert spans[0].outputs == ["what", "which"]
    assert spans[2].attributes["context_tokens"] == 12.0
    assert spans[3].attributes["mlflow.chat.tokenUsage"] == {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    assert spans[3].attributes["mlflow.llm.model"] == "gpt-x"
    assert (spans[3].inputs, spans[3].outputs) == ("Answer: What?", "that")


def test_trace_passages_have_rank_score_and_gold() -> None:
    _, retrieve, context, _ = sample_trace(ROW, CELL, CORPUS, None).spans
    assert [passage["page_content"] for passage in retrieve.outputs] == ["other", "456789", "nin"]
    assert retrieve.outputs[1] == {
        "page_content": "456789",
        "id": "d1[4:10]",
        "metadata": {
            "doc_uri": "d1[4:10]",
            "rank": 2,
            "score": 0.5,
            "gold": True,
            "in_context": True,
        },
    }
    assert [passage["metadata"]["gold"] for passage in retrieve.outputs] == [False, True, False]
    assert [passage["id"] for passage in context.outputs] == ["d1[4:10]"]


def test_trace_hits_reach_down_to_the_last_in_the_context() -> None:
    hits = [hit("d1", n, n + 1, n == 11) for n in range(14)]
    _, retrieve, context, _ = sample_trace({**ROW, "retrieved": hits}, CELL, CORPUS, None).spans
    assert (len(retrieve.outputs), len(context.outputs)) == (12, 1)
    assert retrieve.attributes["n_found"] == 14


def test_trace_has_a_step_for_the_reranker() -> None:
    ranks = {"d2": 3, "d1": 1, "d9": 2}
    hits = [{**own, "rank_before_rerank": ranks[own["document_id"]]} for own in ROW["retrieved"]]
    cell = replace(CELL, axes={**CELL.axes, "reranker": "lexical"})
    spans = sample_trace({**ROW, "retrieved": hits}, cell, CORPUS, None).spans
    assert [span.name for span in spans] == ["query", "retrieve", "rerank", "context", "generate"]
    assert [passage["id"].partition("[")[0] for passage in spans[1].outputs] == ["d1", "d9", "d2"]
    assert [passage["id"].partition("[")[0] for passage in spans[2].outputs] == ["d2", "d1", "d9"]
    assert (spans[1].seconds, spans[2].seconds) == (0.625, 0.125)


def test_trace_has_only_steps_of_the_cell() -> None:
    closed_book = replace(CELL, seconds={"answers": 1.0})
    assert [span.name for span in sample_trace({**ROW, "retrieved": []}, closed_book, None, None).spans] == ["generate"]
    unasked = {**ROW, "state": "not_asked", "answer": "", "latency_s": None, "prompt": ""}
    trace = sample_trace(unasked, CELL, CORPUS, None)
    assert [span.name for span in trace.spans] == ["query", "retrieve", "context"]


def test_trace_feedback_has_a_value_or_a_reason() -> None:
    feedback = {each.name: each for each in sample_trace(ROW, CELL, CORPUS, None).feedback}
    assert set(feedback) == {"ndcg_at_10", "f1", "grade"}
    assert (feedback["ndcg_at_10"].value, feedback["ndcg_at_10"].error) == (0.5, "")
    assert (feedback["f1"].value, feedback["f1"].error) == (None, "answer_error")
    assert (feedback["grade"].judge, feedback["grade"].rationale) == ("grade", "well said")


def test_cause_of_failure_is_reported_with_its_evidence() -> None:
    verdict = Verdict(EvidenceStage.CUT, Outcome.WRONG, Failure.CUT, None, ("whole document",))
    first, *_ = sample_trace(ROW, CELL, CORPUS, verdict).feedback
    assert (first.name, first.value, first.judge) == ("cause_of_failure", "cut", "")
    assert first.rationale == "evidence: cut; answer: wrong; uncertain: whole document"
    right = Verdict(EvidenceStage.IN_CONTEXT, Outcome.RIGHT, Failure.NONE, 1, ())
    assert sample_trace(ROW, CELL, CORPUS, right).feedback[0].value == "none"


def test_trace_passages_without_stored_texts_have_their_places() -> None:
    _, retrieve, *_ = sample_trace(ROW, CELL, None, None).spans
    assert [(hit["page_content"], hit["id"]) for hit in retrieve.outputs][1:2] == [
        ("(the document's text is not stored)", "d1[4:10]")
    ]


def test_trace_inputs_contain_question_history_and_id() -> None:
    history = '[{"question": "Who?", "answer": "she"}]'
    assert sample_trace({**ROW, "history": history}, CELL, None, None).inputs == {
        "question": "What?",
        "history": [{"question": "Who?", "answer": "she"}],
        "id": "s1",
    }


def test_failed_answer_is_an_error_of_its_trace() -> None:
    trace = sample_trace({**ROW, "state": "error", "answer": "", "error": "timed out"}, CELL, CORPUS, None)
    assert trace.error == trace.spans[-1].error == "timed out"


def test_trace_expectations_hold_references_and_gold() -> None:
    assert sample_trace(ROW, CELL, None, None).expectations == {"expected_response": "this", "gold": ["d1[8:12]"]}
    several = sample_trace({**ROW, "references": ["a", "b"], "gold": [], "answerable": False}, CELL, None, None)
    assert several.expectations == {"expected_response": ["a", "b"], "answerable": False}
    assert sample_trace({**ROW, "references": [], "gold": []}, CELL, None, None).expectations == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("<b>", "<b>"), ("\u202egnp", "\\u202egnp"), ("a\x00\udcff", "a\\x00\\udcff"), ("line\nline", "line\nline")],
)
def test_trace_texts_are_escaped_for_pages_and_databases(text: str, expected: str) -> None:
    assert page_text(text) == expected


def test_long_trace_text_is_cut_with_a_note() -> None:
    text = page_text("x" * 100_000)
    assert text.startswith("x" * 10_000 + "\n[cut: 10,000 of 100,000 characters")
