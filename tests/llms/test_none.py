from components.llms.none import NoGenerator
from components.records import AnswerState
from tests.contracts.llm_contract import REQUESTS, LLMContract


class TestNoGenerator(LLMContract):
    component = NoGenerator()


def test_no_request_is_sent() -> None:
    assert {answer.state for answer in NoGenerator().generate(REQUESTS)} == {AnswerState.NOT_ASKED}
