"""The contract of every gate that uses no model."""

from components.testset.protocols import DraftGate, SourceCorpus
from components.testset.records import Draft, VerdictState
from tests.contracts.component_contract import ComponentContract
from tests.testset.gates.drafts import ask_nobody


class SilentGateContract(ComponentContract):
    """A gate's test gives `component`, and as fixtures or attributes `good`, `bad` and `corpus`."""

    component: DraftGate
    good: Draft
    bad: Draft
    corpus: SourceCorpus

    def test_silent_gate_sends_no_requests(self) -> None:
        assert isinstance(self.component, DraftGate)
        assert self.component.llm is None
        assert self.component.n_requests == 0

    def test_gate_verdicts_follow_the_order_of_the_drafts(self) -> None:
        drafts = [self.good, self.bad, self.good]
        assert all(map(self.component.applies_to, drafts))
        verdicts = self.component.verdicts(drafts, self.corpus, ask_nobody)
        assert [verdict.state is VerdictState.REJECTED for verdict in verdicts] == [False, True, False]
        assert verdicts == [self.component.verdicts([draft], self.corpus, ask_nobody)[0] for draft in drafts]

    def test_gate_finding_has_a_reason_and_a_detail(self) -> None:
        (verdict,) = self.component.verdicts([self.bad], self.corpus, ask_nobody)
        assert verdict.reason.replace("_", "").isalpha()
        assert verdict.reason.islower()
        assert verdict.detail

    def test_gate_without_drafts_gives_no_verdicts(self) -> None:
        assert self.component.verdicts([], self.corpus, ask_nobody) == []
