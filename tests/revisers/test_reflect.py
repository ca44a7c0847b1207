"""A check of an answer, and one revision."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from components.llms.scripted import Scripted
from components.protocols import Reviser, UnrevisedAnswers
from components.records import Answer, AnswerCheck, AnswerState, Kind, Request, Sample, Turn
from components.revisers.none import NoReviser
from components.revisers.reflect import Reflect
from tests.contracts.component_contract import ComponentContract
from tests.contracts.reviser_contract import ReviserContract, item

PLACEHOLDERS = "{question}|{passages}|{answer}"


def reflect(**fields: Any) -> Reflect:
    own = {
        "llm": Scripted(),
        "system": "",
        "check_instruction": PLACEHOLDERS,
        "revise_instruction": f"{PLACEHOLDERS}|{{unsupported}}|{{missing}}",
        "reminder": "Once more.",
    }
    return Reflect(**{**own, **fields})


class TestReflect(ReviserContract):
    component = reflect()

    def reply(self, request: Request) -> str:
        if request.json_schema is None:
            return "Another answer."
        return json.dumps({"unsupported": [] if request.sample.id == "one" else ["It is green."], "missing": []})


class TestNoReviser(ComponentContract):
    component = NoReviser()

    def test_none_reviser_implements_only_its_own_protocol(self) -> None:
        assert isinstance(self.component, UnrevisedAnswers)
        assert not isinstance(self.component, Reviser)


OWN = item("s", "It is red [1].", "The bridge is\nred.", "It is long.")


def replies(*texts: str | Answer) -> tuple[Any, list[Request]]:
    """Return a function that gives these replies one after another, and the list of requests that it got."""
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        own = [texts[len(asked) - len(requests) + place] for place in range(len(requests))]
        return [
            text if isinstance(text, Answer) else Answer(request.id, AnswerState.OK, text)
            for request, text in zip(requests, own, strict=True)
        ]

    return ask, asked


def critique_reply(unsupported: list[str], missing: list[str]) -> str:
    return json.dumps({"unsupported": unsupported, "missing": missing})


def test_claims_and_gaps_are_findings_but_only_claims_decide_support() -> None:
    ask, asked = replies(critique_reply(["it is red"], [" "]), critique_reply([], ["it is long "]))
    checks = reflect().check_answers([OWN, item("t", "x", "y")], ask)
    assert checks == [AnswerCheck(False, ("it is red",), ()), AnswerCheck(True, (), ("it is long",))]
    assert (
        asked[0].messages[-1].content == "Question s {answer}?|[1] The bridge is red.\n[2] It is long.|It is red [1]."
    )


def test_revision_request_shows_findings_and_wants_plain_text() -> None:
    ask, asked = replies("<think>So.</think> It is long. ")
    (text,) = reflect().revise([OWN], [AnswerCheck(False, ("a", "b"), ())], ask)
    assert text.text == "It is long."
    assert asked[0].messages[-1].content.endswith("|It is red [1].|- a\n- b|-")
    assert asked[0].json_schema is None


@pytest.mark.parametrize(
    "wrong",
    ["", '{"unsupported": "no", "missing": []}', '{"unsupported": []}', '{"unsupported": [1], "missing": []}', "none"],
)
def test_unreadable_reflection_is_retried_then_reported(wrong: str) -> None:
    ask, asked = replies(wrong, critique_reply([], []))
    assert reflect(max_attempts=2).check_answers([OWN], ask) == [AnswerCheck(True)]
    assert asked[1].messages[-1].content.endswith("Once more.")
    ask, asked = replies(wrong, wrong)
    (check,) = reflect(max_attempts=2).check_answers([OWN], ask)
    assert check.supported is None
    assert check.unread.startswith("cannot be read")


def test_reply_that_repeats_the_form_is_unreadable() -> None:
    instruction = PLACEHOLDERS + ' {"unsupported": ["statement", ...], "missing": []}'
    ask, _ = replies(critique_reply(["statement"], []))
    (check,) = reflect(max_attempts=1, check_instruction=instruction).check_answers([OWN], ask)
    assert check.unread


@pytest.mark.parametrize(
    ("reply", "unread", "failed"),
    [
        (Answer("s", AnswerState.ERROR, error="broken"), "", "broken"),
        (Answer("s", AnswerState.TRUNCATED, "It is"), "cannot be read: (truncated reply) It is", ""),
    ],
)
def test_failed_or_truncated_revision_gives_no_text(reply: Answer, unread: str, failed: str) -> None:
    ask, _ = replies(reply)
    (text,) = reflect(max_attempts=1).revise([OWN], [AnswerCheck(False, ("a",))], ask)
    assert (text.text, text.unread, text.failed) == ("", unread, failed)


def test_revision_that_copies_its_prompt_gives_no_text() -> None:
    headed = "[First answer]\n{answer}\n[Statements that no source supports]\n{unsupported}"
    asking = reflect(max_attempts=1, revise_instruction=f"{{question}}{{passages}}{{missing}}\n{headed}")
    for reply, text in (
        ("[First answer]\nIt is red.", ""),
        ("It is red [1].\n[2] It is long.", "It is red [1].\n[2] It is long."),
    ):
        (written,) = asking.revise([OWN], [AnswerCheck(False, ("a",))], replies(reply)[0])
        assert written.text == text
        assert bool(written.unread) == (not text)


def test_answer_check_shows_earlier_turns_of_the_question() -> None:
    ask, asked = replies(critique_reply([], []))
    sample = Sample("s", "qa", Kind.QA, "And there?", (), history=(Turn("Where?", "Here."),))
    reflect().check_answers([type(OWN)(sample, "Yes.", OWN.passages)], ask)
    assert asked[0].messages[-1].content.startswith("user: Where?\nassistant: Here.\nuser: And there?|")


def test_reflect_reviser_rejects_invalid_settings() -> None:
    assert reflect(check_instruction="{question}").check() == [
        "check_instruction: lacks the placeholder {passages}",
        "check_instruction: lacks the placeholder {answer}",
    ]
    assert reflect(revise_instruction=PLACEHOLDERS).check() == [
        "revise_instruction: lacks the placeholder {unsupported}",
        "revise_instruction: lacks the placeholder {missing}",
    ]
    assert reflect(max_attempts=0).check()
