"""The contract of every gate that asks a model. A test inherits the suite and provides the model's replies."""

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from components.records import Request
from components.testset.protocols import DraftGate
from components.testset.records import Draft, GateVerdict, VerdictState
from tests.contracts.component_contract import ComponentContract
from tests.contracts.judge_contract import ScriptedJudge, failed
from tests.testset.corpora import SmallCorpus


class AskingGateContract(ComponentContract):
    """`good` and `bad` are drafts to which the gate applies, `max_attempts` of it is at least 2."""

    component: DraftGate
    corpus: SmallCorpus
    good: Draft
    bad: Draft
    reason: str

    @abstractmethod
    def reply(self, request: Request) -> str:
        """Return a readable reply to any request of the gate, based only on its messages."""

    def verdicts(self, drafts: Sequence[Draft]) -> tuple[list[GateVerdict], ScriptedJudge]:
        ask = ScriptedJudge(self.reply)
        return self.component.verdicts(drafts, self.corpus, ask), ask

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, DraftGate)
        assert self.component.llm is not None
        assert self.component.applies_to(self.good)
        assert self.component.applies_to(self.bad)

    def test_gate_verdicts_follow_the_order_of_the_drafts(self) -> None:
        (passed, rejected, again), ask = self.verdicts([self.good, self.bad, replace(self.good, id="again")])
        assert passed.state is again.state is VerdictState.PASSED
        assert (rejected.state, rejected.reason) == (VerdictState.REJECTED, self.reason)
        assert rejected.detail
        assert len(ask.requests) <= 3 * self.component.n_requests

    def test_gate_sends_at_most_the_announced_requests_per_draft(self) -> None:
        for draft in (self.good, self.bad):
            _, ask = self.verdicts([draft])
            assert 1 <= len(ask.requests) <= self.component.n_requests

    def test_gate_requests_are_json_chats_without_question_or_references(self) -> None:
        _, ask = self.verdicts([self.good, self.bad])
        for request in ask.requests:
            assert request.messages[-1].role == "user"
            assert (request.sample.question, request.sample.references, request.passages) == ("", (), ())
            assert request.sample.kind is self.good.kind
            assert request.json_schema is not None
            assert json.loads(json.dumps(request.json_schema))["type"] == "object"

    def test_gate_without_drafts_sends_no_request(self) -> None:
        verdicts, ask = self.verdicts([])
        assert (verdicts, ask.calls) == ([], [])

    def test_failed_request_is_not_a_rejection(self) -> None:
        ask = ScriptedJudge(failed)
        verdicts = self.component.verdicts([self.good, self.bad], self.corpus, ask)
        assert [(verdict.state, verdict.reason) for verdict in verdicts] == [(VerdictState.FAILED, "")] * 2
        assert "no connection" in verdicts[0].detail
        assert len(ask.calls) == 1

    def test_unreadable_verdict_rejects_after_all_attempts(self) -> None:
        ask = ScriptedJudge(lambda _: "I would rather not say.")
        verdicts = self.component.verdicts([self.good, self.bad], self.corpus, ask)
        assert {(verdict.state, verdict.reason) for verdict in verdicts} == {
            (VerdictState.REJECTED, "verdict_unreadable")
        }
        assert len(ask.calls) == self.component.max_attempts > 1  # type: ignore[attr-defined]

    def test_gate_accepts_a_readable_second_reply(self) -> None:
        def script(request: Request) -> str:
            is_second = len(request.messages) > 1 and request.messages[-2].role == "assistant"
            return self.reply(request) if is_second else "?"

        drafts = [self.good, self.bad]
        assert self.component.verdicts(drafts, self.corpus, ScriptedJudge(script)) == self.verdicts(drafts)[0]

    def test_finding_is_a_remark_if_the_gate_only_tags(self) -> None:
        if "tags" not in {field.name for field in fields(self.component)}:  # type: ignore[arg-type]
            pytest.skip("what it finds always counts")
        lenient: DraftGate = replace(self.component, tags=True)  # type: ignore[type-var]
        passed, tagged = lenient.verdicts([self.good, self.bad], self.corpus, ScriptedJudge(self.reply))
        assert (passed.state, tagged.state, tagged.reason) == (VerdictState.PASSED, VerdictState.TAGGED, self.reason)
