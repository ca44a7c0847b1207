"""The contract of every component that reads facts from chunks."""

from abc import abstractmethod
from collections.abc import Sequence

from components.protocols import FactReader
from components.records import Answer, AnswerState, Fact, FactsOfChunk, Passages, Request
from tests.contracts.component_contract import ComponentContract

TEXTS = ("The bridge crosses the river.", "It names {title} and {passage}.", "长江流经武汉。", " ")
TITLES = ("Bridges", "", "长江", "")


class FactReaderContract(ComponentContract):
    """Contract of components that ask a language model for facts."""

    component: FactReader

    @abstractmethod
    def reply(self, fact: Fact) -> str:
        """Return a reply that states only this fact."""

    def read(self, texts: Sequence[str] = TEXTS, titles: Sequence[str] = TITLES) -> list[FactsOfChunk]:
        """The outcomes, if the model states a fact about each text."""
        self.asked: list[Request] = []

        def ask(requests: Sequence[Request]) -> list[Answer]:
            """Answer as the asking service does."""
            assert len({request.id for request in requests}) == len(requests)
            self.asked += requests
            replies = [self.reply(Fact("x", "is", request.sample.question)) for request in requests]
            pairs = zip(requests, replies, strict=True)
            return [Answer(request.id, AnswerState.OK, reply) for request, reply in pairs]

        return self.component.read_facts(Passages(texts, titles=titles), ask)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, FactReader)

    def test_fact_reader_returns_facts_per_chunk_in_order(self) -> None:
        read = self.read()
        expected = [(Fact("x", "is", text),) for text in TEXTS[:3]]
        assert [own.facts for own in read] == [*expected, ()]
        assert read == [self.read([text], [title])[0] for text, title in zip(TEXTS, TITLES, strict=True)]

    def test_fact_reader_shows_each_nonblank_chunk_in_one_request(self) -> None:
        self.read()
        assert len(self.asked) == 3
        for request, text in zip(self.asked, TEXTS, strict=False):
            assert text in request.messages[-1].content
            assert request.json_schema is not None

    def test_fact_reader_accepts_chunks_without_titles(self) -> None:
        assert self.read(TEXTS, ()) == self.read()

    def test_empty_batch_of_chunks_gives_an_empty_result(self) -> None:
        assert self.read((), ()) == []
        assert self.asked == []

    def test_failed_and_unreadable_replies_give_no_facts_and_are_reported(self) -> None:
        reported_as = {AnswerState.OK: "unread", AnswerState.REFUSED: "unread", AnswerState.ERROR: "failed"}
        for state, reported in reported_as.items():

            def ask(requests: Sequence[Request], state: AnswerState = state) -> list[Answer]:
                return [Answer(request.id, state, text="{", error="broken") for request in requests]

            read = self.component.read_facts(Passages(TEXTS[:3]), ask)
            assert [(own.facts, bool(getattr(own, reported))) for own in read] == [((), True)] * 3
