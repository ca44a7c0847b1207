from collections.abc import Sequence
from dataclasses import replace

from components.headers.contextual import ContextualHeader
from components.llms.scripted import Scripted
from components.protocols import AskingHeaderWriter
from components.records import Answer, AnswerState, Request, SpanTexts
from tests.contracts.component_contract import ComponentContract
from tests.contracts.header_contract import CHUNKS, DOCUMENTS

HEADER = ContextualHeader(Scripted(), "", "{title}|{document}|{chunk}", "Again.", max_attempts=1)


class TestContextualHeader(ComponentContract):
    component = HEADER

    def test_contextual_header_request_shows_document_and_chunk(self) -> None:
        seen: list[str] = []

        def ask(requests: Sequence[Request]) -> list[Answer]:
            seen.extend(request.messages[-1].content for request in requests)
            return [Answer(request.id, AnswerState.OK, f" {number} ") for number, request in enumerate(requests)]

        (writer,) = HEADER.writers
        assert isinstance(writer, AskingHeaderWriter)
        assert [own.text for own in writer.write_by_asking(DOCUMENTS, CHUNKS, ask)] == ["0", "1", "2"]
        texts = SpanTexts(DOCUMENTS.texts, CHUNKS)
        assert seen[1] == f"First|{DOCUMENTS.texts[0]}|{texts[1]}"

    def test_failed_request_leaves_a_chunk_without_a_header(self) -> None:
        def ask(requests: Sequence[Request]) -> list[Answer]:
            return [Answer(request.id, AnswerState.ERROR, error="broken") for request in requests]

        written = HEADER.write_by_asking(DOCUMENTS, CHUNKS, ask)
        assert [(own.text, own.failed) for own in written] == [("", "broken")] * 3

    def test_copied_prompt_is_not_a_header(self) -> None:
        asking = replace(
            HEADER, instruction="[Document] {title}\n{document}\n[A passage of it]\n{chunk}", max_attempts=2
        )

        def ask(requests: Sequence[Request]) -> list[Answer]:
            is_second = len(requests[0].messages) > 1
            text = "It is from First." if is_second else "Here it is.\n[A passage of it]\nText."
            return [Answer(request.id, AnswerState.OK, text) for request in requests]

        assert [own.text for own in asking.write_by_asking(DOCUMENTS, CHUNKS, ask)] == ["It is from First."] * 3

    def test_header_instruction_without_the_chunk_is_rejected(self) -> None:
        assert replace(HEADER, instruction="{document}").check() == ["instruction: lacks the placeholder {chunk}"]
