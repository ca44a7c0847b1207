"""The contract of every custom pipeline."""

from components.pipelines.pipeline_reply import parse_stored_replies
from components.protocols import AnswersFrom, Pipeline
from components.records import AnswerState, ErrorClass, Kind, Message, Request, Sample, Turn
from tests.contracts.component_contract import ComponentContract


def make_request(question: str, *history: Turn) -> Request:
    """A request whose id is its question, with the conversation as messages."""
    sample = Sample(question, "qa", Kind.QA, question, ("the reference",), history=history)
    turns = [
        Message(role, text) for turn in history for role, text in (("user", turn.question), ("assistant", turn.answer))
    ]
    return Request(question, (*turns, Message("user", question)), sample, ())


QUESTIONS = (
    make_request("Where is the lake?"),
    make_request("And the river?", Turn("Where is the lake?", "In the west.")),
)


class PipelineContract(ComponentContract):
    """Contract of pipelines. The component answers `QUESTIONS`."""

    component: Pipeline

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Pipeline)
        assert self.component.answers_from is AnswersFrom.MESSAGES
        assert not self.component.is_built_in

    def test_pipeline_returns_exactly_one_reply_per_question(self) -> None:
        answers = list(self.component.generate(QUESTIONS))
        assert sorted(answer.request_id for answer in answers) == sorted(request.id for request in QUESTIONS)

    def test_pipeline_reply_is_readable_or_has_a_reason(self) -> None:
        answers = list(self.component.generate(QUESTIONS))
        for answer, reply in zip(answers, parse_stored_replies(answers), strict=True):
            assert answer.state in (AnswerState.OK, AnswerState.ERROR)
            assert (reply is None) == bool(answer.error) == isinstance(answer.error_class, ErrorClass)

    def test_pipeline_does_not_send_the_reference(self) -> None:
        assert all("the reference" not in answer.text for answer in self.component.generate(QUESTIONS))

    def test_empty_batch_of_questions_gives_no_replies(self) -> None:
        assert list(self.component.generate([])) == []
