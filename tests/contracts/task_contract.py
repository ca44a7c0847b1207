"""The contract of every task."""

from collections.abc import Sequence

import pytest

from components.protocols import LLM
from components.records import Answer, AnswerState, Request
from components.testset.evidence import EvidenceSettings, evidence_sets
from components.testset.protocols import SourceCorpus, Task
from components.testset.records import EvidenceSet, NoDraftReason, Topic, WrittenDrafts
from tests.contracts.component_contract import ComponentContract
from tests.testset.corpora import SmallCorpus
from tests.testset.rehearsed import ask

YARD, MUSEUM, BANK, PORT = (
    " ".join(
        f"The {subject} of Port Elsa, whose {words[number % 4]} director {words[(number + 1) % 4]} it well, "
        f"sold {number} boats to the harbour."
        for number in range(first, first + 8)
    )
    for subject, first, words in [
        ("shipyard", 11, ("former", "managed", "elected", "described")),
        ("museum", 51, ("second", "restored", "honorary", "presented")),
        ("bank", 71, ("interim", "financed", "current", "supported")),
        ("fishery", 91, ("youngest", "inspected", "foreign", "remembers")),
    ]
)
CORPUS = SmallCorpus(
    {"bank": BANK, "museum": MUSEUM, "port": PORT, "yard": YARD},
    {"yard": "The shipyard"},
    [Topic("trade", ("Economy", "Trade"), "Who sells what to whom.")],
)


class TaskContract(ComponentContract):
    """The test of a task provides `task`, and the properties of its drafts."""

    component: Task
    corpus: SourceCorpus = CORPUS

    def evidence(self) -> list[EvidenceSet]:
        """Two sets."""
        settings = EvidenceSettings(least_characters=10, most_contained=0.9)
        found = evidence_sets("own", self.component, ["yard", "bank"], self.corpus, settings)
        assert len(found) == 2
        return found

    def written(self) -> WrittenDrafts:
        """Write a draft for the two sets of evidence with scripted replies."""
        return self.component.write("own", self.evidence(), self.corpus, ask)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Task)

    def test_every_evidence_set_has_its_drafts(self) -> None:
        written = self.written()
        assert written.not_drafted == ()
        assert list(dict.fromkeys(draft.evidence for draft in written.drafts)) == self.evidence()
        assert len({draft.id for draft in written.drafts}) == len(written.drafts)

    def test_task_drafts_have_all_fields(self) -> None:
        for draft in self.written().drafts:
            assert (draft.task, draft.kind, draft.topic) == ("own", self.component.kind, draft.evidence.topic)
            assert draft.question.strip()
            assert all(reference.strip() for reference in draft.references)
            assert not (draft.gold and draft.quotes)
            assert draft.removed == ((draft.evidence.extracts[0].document_id,) if self.component.removes_source else ())

    def test_equal_evidence_gives_equal_drafts(self) -> None:
        assert self.written() == self.written()

    def test_empty_evidence_gives_an_empty_result(self) -> None:
        assert self.component.write("own", [], self.corpus, ask) == WrittenDrafts(())


class AskingTaskContract(TaskContract):
    """Contract of tasks that ask a writer, once."""

    def test_task_sends_one_request_per_evidence_set_with_its_documents(self) -> None:
        requests: list[Request] = []

        def asked(own: Sequence[Request]) -> list[Answer]:
            requests.extend(own)
            return ask(own)

        evidence = self.evidence()
        self.component.write("own", evidence, self.corpus, asked)
        assert isinstance(self.component.llm, LLM)
        assert self.component.n_requests == 1
        assert len({request.id for request in requests}) == len(requests) == 2
        for request, own in zip(requests, evidence, strict=True):
            prompt = request.messages[-1].content
            assert prompt.count("<document ") == len(own.extracts)
            assert all(" ".join(extract.text.split()[:9]) in prompt for extract in own.extracts)
            assert request.sample.question == ""

    @pytest.mark.parametrize(
        ("reply", "refusal"),
        [
            (Answer("", AnswerState.OK, '{"not_applicable": "an advertisement"}'), NoDraftReason.DECLINED),
            (Answer("", AnswerState.OK, "Certainly! Here it is."), NoDraftReason.UNREADABLE),
            (Answer("", AnswerState.OK, '{"reasoning": "nothing else"}'), NoDraftReason.UNREADABLE),
            (Answer("", AnswerState.EMPTY), NoDraftReason.UNREADABLE),
            (Answer("", AnswerState.ERROR, error="broken"), NoDraftReason.FAILED),
        ],
    )
    def test_task_reports_why_a_reply_gave_no_draft(self, reply: Answer, refusal: NoDraftReason) -> None:
        written = self.component.write("own", self.evidence(), self.corpus, lambda requests: [reply for _ in requests])
        assert written.drafts == ()
        assert [(own.evidence, own.cause) for own in written.not_drafted] == [(own, refusal) for own in self.evidence()]
        assert all(own.detail for own in written.not_drafted)
