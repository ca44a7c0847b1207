from components.llms.none import NoGenerator
from components.records import AnswerState
from tests.contracts.llm_contract import REQUESTS, LLMContract


class TestNoGenerator(LLMContract):
    component = NoGenerator()


def test_none_generator_sends_nothing_and_answers_not_asked() -> None:
    assert {answer.state for answer in NoGenerator().generate(REQUESTS)} == {AnswerState.NOT_ASKED}
