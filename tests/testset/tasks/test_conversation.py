from dataclasses import replace

from components.records import Answer, AnswerState, Turn
from components.testset.tasks.conversation import Conversation
from tests.contracts.task_contract import AskingTaskContract
from tests.testset.tasks.configured import configured

COMPONENT = configured("conversational")
assert isinstance(COMPONENT, Conversation)


class TestConversation(AskingTaskContract):
    component = COMPONENT

    def test_each_turn_is_a_draft_with_its_earlier_turns(self) -> None:
        (own, _) = self.evidence()
        drafts = [draft for draft in self.written().drafts if draft.evidence == own]
        assert [draft.turn for draft in drafts] == [0, 1, 2]
        assert {draft.conversation for draft in drafts} == {own.id}
        turns = tuple(Turn(draft.question, draft.references[0]) for draft in drafts)
        assert [draft.history for draft in drafts] == [(), turns[:1], turns[:2]]

    def test_conversation_has_at_most_the_configured_turns(self) -> None:
        written = replace(COMPONENT, most_turns=2).write("own", self.evidence(), self.corpus, self.three_turns)
        assert [draft.turn for draft in written.drafts] == [0, 1, 0, 1]

    def test_incomplete_turn_makes_the_reply_unreadable(self) -> None:
        for turns in ('[{"question": "Q?", "answer": "A", "evidence": [1]}]', '["Q?", "Q?"]', '"Q?"'):
            answer = Answer("", AnswerState.OK, f'{{"turns": {turns}}}')
            written = COMPONENT.write("own", self.evidence()[:1], self.corpus, lambda _, own=answer: [own])
            assert [own.cause for own in written.not_drafted] == ["unreadable"]

    @staticmethod
    def three_turns(requests: object) -> list[Answer]:
        turn = '{"question": "Q?", "answer": "A", "evidence": [1]}'
        return [Answer("", AnswerState.OK, f'{{"turns": [{turn}, {turn}, {turn}]}}')] * 2

    def test_single_turn_is_not_a_conversation(self) -> None:
        assert replace(COMPONENT, least_turns=1, most_turns=0).check() == [
            "least_turns: got 1, expected at least 2",
            "most_turns: got 0, expected at least 1",
        ]
