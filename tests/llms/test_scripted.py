import pytest

from components.fields import is_runtime_only
from components.llms.scripted import Scripted
from components.records import Answer, AnswerState, ErrorClass
from tests.contracts.llm_contract import LLMContract, request


class TestScripted(LLMContract):
    component = Scripted()


class TestWithEveryState(LLMContract):
    component = Scripted("{context}{question}", error_on="故宫", empty_on="没有", refuse_on="空白", truncate_on="西湖")


def answer(llm: Scripted, question: str) -> Answer:
    (only,) = llm.generate([request(question, ("甲", "乙"))])
    return only


@pytest.mark.parametrize(
    ("reply", "text"),
    [("{question}", "问？"), ("好", "好"), ("{context}|{question}", "甲\n乙|问？"), ("{other}", "{other}")],
)
def test_scripted_replies_fill_the_placeholders_of_the_script(reply: str, text: str) -> None:
    assert answer(Scripted(reply), "问？").text == text


def test_scripted_reply_does_not_expand_inserted_text() -> None:
    assert answer(Scripted("{question}"), "{context}").text == "{context}"


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("错吗", AnswerState.ERROR),
        ("空吗", AnswerState.EMPTY),
        ("拒吗", AnswerState.REFUSED),
        ("截吗", AnswerState.TRUNCATED),
        ("好吗", AnswerState.OK),
    ],
)
def test_scripted_states_follow_the_script(question: str, state: AnswerState) -> None:
    llm = Scripted(error_on="错", empty_on="空", refuse_on="拒", truncate_on="截")
    assert answer(llm, question).state is state


def test_scripted_error_has_the_configured_class() -> None:
    failed = answer(Scripted(error_on="错", error_class=ErrorClass.TIMEOUT), "错吗")
    assert (failed.error, failed.error_class) == ("the script fails on '错'", ErrorClass.TIMEOUT)


def test_scripted_truncation_keeps_the_first_half() -> None:
    assert answer(Scripted(truncate_on="截"), "截到这里").text == "截到"


def test_empty_scripted_reply_is_an_empty_answer() -> None:
    assert answer(Scripted(""), "问？").state is AnswerState.EMPTY


def test_scripted_identity_excludes_the_delay() -> None:
    (delay,) = (field for field in Scripted.__dataclass_fields__.values() if field.name == "delay_s")
    assert is_runtime_only(delay)
