"""Abstentions in place of unsupported answers."""

from typing import Any

import pytest

from components.llms.scripted import Scripted
from components.records import AnswerCheck, Request
from components.revisers.abstain import AbstainIfUnsupported
from components.text.refusals import is_refusal
from tests.contracts.reviser_contract import ITEMS, ReviserContract, item
from tests.revisers.test_reflect import OWN, PLACEHOLDERS, replies


def abstain(**fields: Any) -> AbstainIfUnsupported:
    own = {
        "llm": Scripted(),
        "system": "",
        "instruction": PLACEHOLDERS,
        "reminder": "Once more.",
        "abstention": "None.",
    }
    return AbstainIfUnsupported(**{**own, **fields})


class TestAbstainIfUnsupported(ReviserContract):
    component = abstain(abstention="insufficient information")

    def reply(self, request: Request) -> str:
        return f'{{"reason": "so it is", "supported": {"true" if request.sample.id == "one" else "false"}}}'

    def test_answer_without_passages_becomes_an_abstention_without_a_request(self) -> None:
        checks = self.check(ITEMS[2:])
        assert self.asked == []
        assert [text.text for text in self.component.revise(ITEMS[2:], checks, self.ask)] == [
            "insufficient information"
        ] * 2

    @pytest.mark.parametrize("answer", ["insufficient information", "I do not know.", "资料中没有提到。"])
    def test_abstention_is_not_checked_again(self, answer: str) -> None:
        assert self.check([item("s", answer, "a passage")]) == [AnswerCheck(None)]
        assert self.asked == []


def test_reason_of_an_unsupported_answer_is_its_finding() -> None:
    ask, _ = replies('{"reason": " not there ", "supported": "no"}', '{"supported": true}')
    checks = abstain().check_answers([OWN, item("t", "x", "y")], ask)
    assert checks == [AnswerCheck(False, ("not there",)), AnswerCheck(True)]


def test_unsupported_answer_without_a_reason_has_a_finding() -> None:
    ask, _ = replies('{"supported": false}')
    (check,) = abstain().check_answers([OWN], ask)
    assert check.unsupported


@pytest.mark.parametrize("wrong", ["", "perhaps", '{"supported": "partly"}', '{"reason": "x"}'])
def test_unreadable_support_check_is_requested_again(wrong: str) -> None:
    ask, asked = replies(wrong, "true")
    assert abstain(max_attempts=2).check_answers([OWN], ask) == [AnswerCheck(True)]
    assert len(asked) == 2


def test_abstain_reviser_rejects_invalid_settings() -> None:
    assert abstain(instruction="{question}").check() == [
        "instruction: lacks the placeholder {passages}",
        "instruction: lacks the placeholder {answer}",
    ]
    assert abstain(abstention=" ").check() == ["abstention: got none, expected a text"]
    assert abstain(max_attempts=0).check()
    assert is_refusal(abstain(abstention="信息不足").abstention)
