"""Gates with a reader that answers: from the gold, without any text, and without one document at a time."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from components.records import Answer, Evidence, Kind, Request
from components.testset.gates.answerable import Answerable
from components.testset.gates.closed_book import ClosedBook
from components.testset.gates.each_document import EachDocument
from components.testset.records import VerdictState
from tests.contracts.asking_gate_contract import AskingGateContract
from tests.contracts.judge_contract import ScriptedJudge, failed
from tests.testset.gates.asking import (
    BOTH,
    COMPARING,
    CORPUS,
    LATER,
    LENGTH,
    LLM,
    READING,
    draft,
    numbers_in,
    reader_of,
    user_prompt,
)

ANSWERABLE = Answerable(LLM, READING, COMPARING, max_attempts=2, tags=False)
CLOSED_BOOK = ClosedBook(LLM, replace(READING, instruction="READ {question}\n---\n"), COMPARING, 2, tags=False)
EACH_DOCUMENT = EachDocument(LLM, READING, COMPARING, most_documents=3, max_attempts=2, tags=False)
OTHER_KINDS = (Kind.CONTINUATION, Kind.SUMMARIZATION, Kind.CORRECTION)


class TestAnswerable(AskingGateContract):
    component = ANSWERABLE
    corpus = CORPUS
    good = LENGTH
    bad = draft("How long is line 3 of the Oakham tram?", "9 km", "bank")
    reason = "not_answerable"

    def reply(self, request: Request) -> str:
        return reader_of(lambda documents: "17.6 km" if "17.6 km" in documents else "")(request)


class TestClosedBook(AskingGateContract):
    component = CLOSED_BOOK
    corpus = CORPUS
    good = LENGTH
    bad = draft("What is the capital of France?", "Paris", "tram")
    reason = "closed_book"

    def reply(self, request: Request) -> str:
        return json.dumps({"reason": "known", "answer": "Paris" if "France" in user_prompt(request) else ""})


class TestEachDocument(AskingGateContract):
    component = EACH_DOCUMENT
    corpus = CORPUS
    good = BOTH
    bad = draft("What did the Oakham bank lend?", "40 million", "tram", "bank")
    reason = "document_not_needed"

    def reply(self, request: Request) -> str:
        return reader_of(numbers_in)(request)


def test_reader_request_contains_only_the_gold_and_its_title() -> None:
    gold = replace(LENGTH, gold=(replace(LENGTH.gold[0], end=42),))
    ask = ScriptedJudge(reader_of(lambda _: "17.6 km"))
    ANSWERABLE.verdicts([gold], CORPUS, ask)
    assert user_prompt(ask.requests[0]) == (
        "READ How long is line 2 of the Oakham tram?\n---\n<document 1>The Oakham tram\n"
        "Line 2 of the Oakham tram is 17.6 km long.\n</document 1>"
    )


def test_different_reader_answer_is_compared_by_a_model() -> None:
    ask = ScriptedJudge(reader_of(lambda _: "about eighteen kilometres"))
    (verdict,) = ANSWERABLE.verdicts([LENGTH], CORPUS, ask)
    assert (verdict.reason, verdict.detail) == ("other_answer", "about eighteen kilometres: by its words")
    assert [len(call) for call in ask.calls] == [1, 1]
    ask = ScriptedJudge(
        reader_of(lambda _: "It says 17.6 km there, and I am quite sure about it, after a long walk " * 2)
    )
    assert ANSWERABLE.verdicts([LENGTH], CORPUS, ask)[0].state is VerdictState.PASSED


@pytest.mark.parametrize(
    ("compare", "state", "reason"),
    [
        (lambda _: "?", VerdictState.REJECTED, "verdict_unreadable"),
        (failed, VerdictState.FAILED, ""),
    ],
)
def test_failed_comparison_is_unparsable_or_failed(
    compare: Callable[[Request], str | Answer], state: VerdictState, reason: str
) -> None:
    def script(request: Request) -> str | Answer:
        is_comparison = user_prompt(request).startswith("COMPARE")
        return compare(request) if is_comparison else '{"reason": "", "answer": "long, long ago"}'

    (verdict,) = ANSWERABLE.verdicts([LENGTH], CORPUS, ScriptedJudge(script))
    assert (verdict.state, verdict.reason) == (state, reason)


def test_reading_gate_without_gold_asks_no_model() -> None:
    ask = ScriptedJudge(failed)
    bare, elsewhere = replace(LENGTH, gold=()), replace(LENGTH, gold=(Evidence("not in the corpus", 0, 5),))
    first, second, third = ANSWERABLE.verdicts([bare, elsewhere, LENGTH], CORPUS, ask)
    assert first == second
    assert (first.state, first.reason) == (VerdictState.REJECTED, "no_gold")
    assert third.state is VerdictState.FAILED
    assert len(ask.requests) == 1


def test_later_turn_is_read_with_its_history() -> None:
    ask = ScriptedJudge(reader_of(lambda _: "19"))
    assert ANSWERABLE.verdicts([LATER], CORPUS, ask)[0].state is VerdictState.PASSED
    assert "user: How long is line 2 of the Oakham tram?\nassistant: 17.6 km\nuser: And how" in user_prompt(
        ask.requests[0]
    )


@pytest.mark.parametrize("gate", [ANSWERABLE, CLOSED_BOOK, EACH_DOCUMENT])
def test_reading_gate_skips_texts_to_be_worked_on(gate: Answerable | ClosedBook | EachDocument) -> None:
    for kind in OTHER_KINDS:
        assert not gate.applies_to(replace(BOTH, kind=kind))
    assert gate.applies_to(replace(BOTH, kind=Kind.LONG_FORM))


def test_each_document_gate_leaves_out_each_document_once() -> None:
    ask = ScriptedJudge(reader_of(numbers_in))
    (verdict,) = EACH_DOCUMENT.verdicts([BOTH], CORPUS, ask)
    assert verdict.state is VerdictState.PASSED
    texts = [user_prompt(request) for request in ask.calls[0]]
    assert [("17.6" in text, "40 million" in text) for text in texts] == [(False, True), (True, False)]


def test_each_document_gate_skips_one_document_and_rejects_too_many() -> None:
    assert not EACH_DOCUMENT.applies_to(LENGTH)
    three = draft("Which?", "this", "tram", "bank", "fair")
    ask = ScriptedJudge(failed)
    (verdict,) = replace(EACH_DOCUMENT, most_documents=2).verdicts([three], CORPUS, ask)
    assert (verdict.reason, verdict.detail) == ("too_many_documents", "gold in 3 documents, expected at most 2")
    assert ask.calls == []


def test_unneeded_document_rejects_despite_other_unreadable_replies() -> None:
    def script(request: Request) -> str:
        return '{"reason": "", "answer": "17.6 km; 40 million"}' if "17.6" in user_prompt(request) else "?"

    (verdict,) = EACH_DOCUMENT.verdicts([BOTH], CORPUS, ScriptedJudge(script))
    assert (verdict.reason, verdict.detail) == ("document_not_needed", "bank: 17.6 km; 40 million")
