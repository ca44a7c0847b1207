"""The contract of every prompt."""

import pytest

from components.protocols import Prompt
from components.records import Kind, Passage, Sample, Turn
from tests.contracts.component_contract import ComponentContract

PASSAGES = (
    Passage("西湖在{question}城西。", "西湖{text}", {"date": "{n}"}),
    Passage("{context}{n}{text}\\1 {history}"),
)


def sample_of(kind: Kind) -> Sample:
    """A sample with a history and with braces in its texts."""
    return Sample(
        "s",
        "qa",
        kind,
        "西湖{context}在哪里？",
        references=("参考答案",),
        history=(Turn("问{answer}题一", "答{question}案一"),),
    )


class PromptContract(ComponentContract):
    """Contract of prompts."""

    component: Prompt

    def text(self, kind: Kind, passages: tuple[Passage, ...]) -> str:
        """The messages in one text."""
        return "\n".join(message.content for message in self.component.render(sample_of(kind), passages))

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Prompt)

    @pytest.mark.parametrize("kind", Kind)
    def test_prompt_ends_with_a_user_message(self, kind: Kind) -> None:
        messages = self.component.render(sample_of(kind), PASSAGES)
        assert messages[-1].role == "user"
        assert {message.role for message in messages} <= {"system", "user", "assistant"}
        assert all(message.content for message in messages)

    @pytest.mark.parametrize("kind", Kind)
    def test_prompt_contains_question_and_passages_unchanged_and_in_order(self, kind: Kind) -> None:
        text = self.text(kind, PASSAGES)
        assert sample_of(kind).question in text
        places = [text.index(passage.text) for passage in PASSAGES]
        assert places == sorted(places)

    @pytest.mark.parametrize("kind", Kind)
    def test_prompt_does_not_contain_the_reference(self, kind: Kind) -> None:
        assert "参考答案" not in self.text(kind, PASSAGES)

    def test_conversation_prompt_contains_earlier_turns(self) -> None:
        text = self.text(Kind.CONVERSATION, PASSAGES)
        assert text.index("问{answer}题一") < text.index("答{question}案一")

    @pytest.mark.parametrize("kind", Kind)
    def test_closed_book_prompt_contains_the_question_and_differs(self, kind: Kind) -> None:
        messages = self.component.render_closed_book(sample_of(kind))
        text = "\n".join(message.content for message in messages)
        assert sample_of(kind).question in text
        assert text not in (self.text(kind, ()), self.text(kind, PASSAGES))

    @pytest.mark.parametrize("kind", Kind)
    def test_prompt_without_passages_differs_from_a_blank_passage(self, kind: Kind) -> None:
        text = self.text(kind, ())
        assert sample_of(kind).question in text
        assert "城西" not in text
        assert text != self.text(kind, (Passage(""),))
