import dataclasses

import pytest

from components.prompts.by_kind import PromptByKind
from components.records import Kind, Message, Passage, Sample, Turn
from tests.contracts.passages import make_passages
from tests.contracts.prompt_contract import PromptContract

PROMPT = PromptByKind(
    system="系统{question}",
    qa="资料：{context}\n问题：{question}",
    long_form="长：{context}|{question}",
    conversation="{history}|{context}|{question}",
    continuation="续：{context}|{question}",
    summarization="摘：{context}|{question}",
    correction="改：{context}|{question}",
    passage="[{n}] {text}",
    turn="问{question}答{answer}",
    nothing_found="没有找到",
    closed_book_system="凭知识{question}",
    closed_book="没有资料",
)


class TestPromptByKind(PromptContract):
    component = PROMPT


class TestWithoutSystem(PromptContract):
    component = dataclasses.replace(PROMPT, system="")


def sample(kind: Kind = Kind.QA, question: str = "几座桥？", history: tuple[Turn, ...] = ()) -> Sample:
    return Sample("s", "qa", kind, question, ("三座",), history=history)


def test_rendered_messages_equal_hand_written_messages() -> None:
    assert PROMPT.render(sample(), make_passages("甲", "乙")) == (
        Message("system", "系统{question}"),
        Message("user", "资料：[1] 甲\n[2] 乙\n问题：几座桥？"),
    )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.LONG_FORM, "长：[1] 甲|几座桥？"),
        (Kind.CONTINUATION, "续：[1] 甲|几座桥？"),
        (Kind.SUMMARIZATION, "摘：[1] 甲|几座桥？"),
        (Kind.CORRECTION, "改：[1] 甲|几座桥？"),
        (Kind.CONVERSATION, "|[1] 甲|几座桥？"),
    ],
)
def test_every_question_kind_has_its_template(kind: Kind, text: str) -> None:
    assert PROMPT.render(sample(kind), make_passages("甲"))[-1].content == text


def test_prompt_writes_history_turn_by_turn() -> None:
    talk = sample(Kind.CONVERSATION, history=(Turn("建了什么？", "桥。"), Turn("在哪？", "{question}")))
    assert (
        PROMPT.render(talk, make_passages("甲"))[-1].content
        == "问建了什么？答桥。\n问在哪？答{question}|[1] 甲|几座桥？"
    )


def test_prompt_without_hits_differs_from_a_closed_book_prompt() -> None:
    assert PROMPT.render(sample(), []) == (
        Message("system", "系统{question}"),
        Message("user", "资料：没有找到\n问题：几座桥？"),
    )
    assert PROMPT.render_closed_book(sample()) == (
        Message("system", "凭知识{question}"),
        Message("user", "资料：没有资料\n问题：几座桥？"),
    )


def test_closed_book_prompt_falls_back_to_the_common_system_message() -> None:
    prompt = dataclasses.replace(PROMPT, closed_book_system="")
    assert prompt.render_closed_book(sample())[0] == prompt.render(sample(), [])[0]


def test_prompt_strips_white_space_around_a_passage() -> None:
    assert (
        PROMPT.render(sample(), make_passages(" 甲 乙\n", "\n\n丙"))[-1].content
        == "资料：[1] 甲 乙\n[2] 丙\n问题：几座桥？"
    )


def test_prompt_does_not_expand_placeholders_in_inserted_text() -> None:
    asked = sample(question="{context}{history}\\g<0>")
    assert (
        PROMPT.render(asked, make_passages("{question}{n}"))[-1].content
        == "资料：[1] {question}{n}\n问题：{context}{history}\\g<0>"
    )


def test_passage_template_shows_title_and_metadata() -> None:
    prompt = dataclasses.replace(PROMPT, passage="{n} {title} ({metadata}): {text}")
    passages = [Passage("甲", "桥", {"date": "2020", "place": "{text}"}), Passage("乙")]
    assert prompt.render(sample(), passages)[-1].content == (
        "资料：1 桥 (date: 2020; place: {text}): 甲\n2  (): 乙\n问题：几座桥？"
    )


def test_missing_document_metadata_is_left_empty_in_the_prompt() -> None:
    prompt = dataclasses.replace(PROMPT, passage='{"by": "{company}, {date}"} {text}')
    passages = [Passage("甲", metadata={"company": "{n}"}), Passage("乙{company}")]
    assert prompt.render(sample(), passages)[-1].content == (
        '资料：{"by": "{n}, "} 甲\n{"by": ", "} 乙{company}\n问题：几座桥？'
    )


def test_metadata_placeholder_that_no_document_has_is_an_error() -> None:
    prompt = dataclasses.replace(PROMPT, passage="{n} {title} {section} {date} {company} {compny}: {text}")
    assert prompt.check_metadata(("company",), []) == [
        "prompt.passage: no document has 'compny' among its metadata, expected placeholders for n, text, title, "
        "metadata, section, page, date, company"
    ]


def test_empty_system_message_is_omitted() -> None:
    assert [message.role for message in dataclasses.replace(PROMPT, system="").render(sample(), [])] == ["user"]


def test_rejected_templates_of_prompts_by_kind() -> None:
    broken = dataclasses.replace(PROMPT, qa="{context}", summarization="", conversation="{question}{context}")
    assert broken.check() == [
        "qa: the template has no {question}",
        "conversation: the template has no {history}",
        "summarization: is empty, expected a template with {question} and {context}, here or as `default` for all "
        "kinds without one",
    ]


def test_passage_and_turn_templates_require_their_fields() -> None:
    broken = dataclasses.replace(PROMPT, passage="[{n}] {text", turn="{answer}")
    assert broken.check() == ["passage: the template has no {text}", "turn: the template has no {question}"]


class TestDefaultAlone(PromptContract):
    component = PromptByKind(default="{context}\n\n{question}", nothing_found="没有找到", closed_book="没有资料")

    def test_default_template_alone_is_a_complete_prompt(self) -> None:
        assert self.component.check() == []  # type: ignore[attr-defined]

    def test_default_template_puts_earlier_turns_before_the_question(self) -> None:
        talk = sample(Kind.CONVERSATION, history=(Turn("建了什么？", "桥。"),))
        assert self.component.render(talk, make_passages("甲")) == (
            Message("user", "[1] 甲\n\n建了什么？\n桥。\n几座桥？"),
        )


def test_specific_template_overrides_the_default() -> None:
    prompt = dataclasses.replace(PROMPT, default="{context}|{question}", correction="")
    assert prompt.render(sample(), make_passages("甲"))[-1].content == "资料：[1] 甲\n问题：几座桥？"
    assert prompt.render(sample(Kind.CORRECTION), make_passages("甲"))[-1].content == "[1] 甲|几座桥？"


def test_default_template_requires_question_and_context() -> None:
    assert PromptByKind(default="{question}").check() == ["default: the template has no {context}"]
