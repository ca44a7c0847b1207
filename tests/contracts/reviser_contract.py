"""The contract of every reviser."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import pytest

from components.protocols import Reviser, UnrevisedAnswers
from components.records import Answer, AnswerCheck, AnswerState, JudgeInput, Kind, Passage, Request, Sample
from tests.contracts.component_contract import ComponentContract


def item(name: str, answer: str, *texts: str) -> JudgeInput:
    """An answer to a question that is named like its sample."""
    sample = Sample(name, "qa", Kind.QA, f"Question {name} {{answer}}?", ("the reference",))
    return JudgeInput(sample, answer, tuple(map(Passage, texts)))


ITEMS = (
    item("one", "It was opened in 1932.", "The bridge is red. {question}", "It was opened in 1932."),
    item("two", "It is {passages} green.", "西湖在杭州。"),
    item("none", "It is deep."),
    item("blank", "It is old.", " \n "),
)
N_WITH_PASSAGES = 2


class ReviserContract(ComponentContract, ABC):
    """Contract of revisers. A check of the first answer finds nothing, a check of the others finds something."""

    component: Reviser

    @abstractmethod
    def reply(self, request: Request) -> str:
        """Return a readable reply to a request of the component."""

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer as the asking service does."""
        assert len({request.id for request in requests}) == len(requests)
        self.asked += requests
        return [Answer(request.id, AnswerState.OK, self.reply(request)) for request in requests]

    def check(self, items: Sequence[JudgeInput] = ITEMS) -> list[AnswerCheck]:
        self.asked: list[Request] = []
        return self.component.check_answers(items, self.ask)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Reviser)
        assert not isinstance(self.component, UnrevisedAnswers)

    def test_reviser_checks_each_answer_with_passages_by_one_request(self) -> None:
        checks = self.check()
        assert [check.supported for check in checks] == [True, False, False, False]
        assert [request.sample.id for request in self.asked] == ["one", "two"]
        for request, own in zip(self.asked, ITEMS, strict=False):
            shown = request.messages[-1].content
            assert all(text in shown for text in (own.sample.question, own.answer, *(p.text for p in own.passages)))
            assert request.json_schema is not None
            assert "the reference" not in shown

    def test_reviser_checks_an_answer_independently_of_the_others(self) -> None:
        together = self.check()
        for row, own in enumerate(together):
            assert self.check(ITEMS[row : row + 1]) == [own]

    def test_empty_batch_of_answers_sends_no_request(self) -> None:
        assert self.check(()) == []
        assert self.component.revise((), (), self.ask) == []
        assert self.asked == []

    def test_reviser_revises_an_answer_with_a_finding(self) -> None:
        checks = self.check()
        wrong = [row for row, check in enumerate(checks) if check.unsupported or check.missing]
        assert 1 in wrong
        assert 0 not in wrong
        n_checks = len(self.asked)
        texts = self.component.revise([ITEMS[row] for row in wrong], [checks[row] for row in wrong], self.ask)
        assert all(text.text and not (text.unread or text.failed) for text in texts)
        assert n_checks == N_WITH_PASSAGES
        assert len(self.asked) - n_checks <= (self.component.n_requests - 1) * len(wrong)
        assert {request.sample.id for request in self.asked[n_checks:]} <= {ITEMS[row].sample.id for row in wrong}

    @pytest.mark.parametrize(("state", "reported"), [(AnswerState.OK, "unread"), (AnswerState.ERROR, "failed")])
    def test_failed_and_unreadable_checks_are_reported_without_findings(
        self, state: AnswerState, reported: str
    ) -> None:
        def ask(requests: Sequence[Request]) -> list[Answer]:
            return [Answer(request.id, state, text="?", error="broken") for request in requests]

        for check in self.component.check_answers(ITEMS[:N_WITH_PASSAGES], ask):
            assert (check.supported, check.unsupported, check.missing) == (None, (), ())
            assert [bool(check.unread), bool(check.failed)] == [reported == "unread", reported == "failed"]
