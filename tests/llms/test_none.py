from components.llms.none import NoGenerator
from components.records import AnswerState
from tests.contracts.llm_contract import REQUESTS, LLMContract


class TestNoGenerator(LLMContract):
    component = NoGenerator()


def test_nothing_is_asked() -> None:
    assert {answer.state for answer in NoGenerator().generate(REQUESTS)} == {AnswerState.NOT_ASKED}
