"""The built-in pipeline, which is never called."""

from components.pipelines.built_in import BuiltIn
from components.protocols import AnswersFrom, Pipeline
from components.records import AnswerState
from tests.contracts.component_contract import ComponentContract
from tests.contracts.pipeline_contract import QUESTIONS


class TestBuiltIn(ComponentContract):
    component = BuiltIn()

    def test_built_in_pipeline_answers_not_asked(self) -> None:
        assert isinstance(self.component, Pipeline)
        assert self.component.is_built_in
        assert self.component.answers_from is AnswersFrom.NOTHING
        assert {answer.state for answer in self.component.generate(QUESTIONS)} == {AnswerState.NOT_ASKED}
