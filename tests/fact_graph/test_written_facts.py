import json
from collections.abc import Sequence
from dataclasses import replace

from components.fact_graph.written_facts import WrittenFacts
from components.llms.scripted import Scripted
from components.records import Answer, AnswerState, Fact, Passages, Request
from tests.contracts.fact_reader_contract import FactReaderContract

READER = WrittenFacts(Scripted(), "Read.", "{title}|{passage}", "Again.", max_attempts=2)


class TestWrittenFacts(FactReaderContract):
    component = READER

    def reply(self, fact: Fact) -> str:
        return json.dumps({"facts": [[fact.subject, fact.relation, fact.object]]})

    def test_fact_request_shows_the_title_of_the_document(self) -> None:
        self.read()
        assert [own.messages[0].content for own in self.asked] == ["Read."] * 3
        assert self.asked[0].messages[1].content == "Bridges|The bridge crosses the river."

    def test_unreadable_fact_reply_is_requested_again(self) -> None:
        asked: list[int] = []

        def ask(requests: Sequence[Request]) -> list[Answer]:
            asked.append(len(requests))
            replies = ["no JSON", '{"facts": []}'] if len(asked) == 1 else ['{"facts": [["a", "b", "c"], []]}']
            return [Answer(own.id, AnswerState.OK, text) for own, text in zip(requests, replies, strict=True)]

        first, second = READER.read_facts(Passages(["one", "two"]), ask)
        assert asked == [2, 1]
        assert (first.facts, first.n_left_out) == ((Fact("a", "b", "c"),), 1)
        assert (second.facts, second.unread) == ((), "")

    def test_truncated_fact_reply_is_unreadable(self) -> None:
        def ask(requests: Sequence[Request]) -> list[Answer]:
            text = '{"facts": [["a", "b", "c"]]}'
            return [Answer(request.id, AnswerState.TRUNCATED, text) for request in requests]

        (found,) = READER.read_facts(Passages(["one"]), ask)
        assert found.facts == ()
        assert found.unread.startswith("cannot be read: (truncated reply)")

    def test_written_facts_reject_invalid_settings(self) -> None:
        assert replace(READER, instruction="{title}").check() == ["instruction: lacks the placeholder {passage}"]
        assert replace(READER, instruction="{passage}{document}").check() == [
            "instruction: unknown placeholder {document}, expected only {passage} and {title}"
        ]
        assert replace(READER, max_facts=0, max_attempts=0).check() == [
            "max_facts: got 0, expected at least 1",
            "max_attempts: got 0, expected at least 1",
        ]

    def test_chinese_instruction_supports_only_chinese(self) -> None:
        assert replace(READER, instruction="请列出这一段陈述的事实：{passage}", system="").languages == ("zh",)
