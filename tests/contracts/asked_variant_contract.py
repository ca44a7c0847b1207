"""The contract of every query variant that uses a language model."""

from collections.abc import Sequence
from dataclasses import replace

from components.protocols import AskedVariant, Expander
from components.records import Answer, AnswerState, Expansion, Request, Sample
from tests.contracts.component_contract import ComponentContract
from tests.contracts.expander_contract import PLAIN, TALK

SAMPLES = (PLAIN, TALK, replace(PLAIN, id="s3", question="What is {n} of {question}?"), replace(PLAIN, question=" "))


class AskedVariantContract(ComponentContract):
    """Contract of query variants that use a language model."""

    component: AskedVariant

    def reply(self, request: Request) -> str:
        """Return a readable reply to a request of the component."""
        raise NotImplementedError

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer as the asking service does."""
        assert len({request.id for request in requests}) == len(requests)
        self.asked += requests
        return [Answer(request.id, AnswerState.OK, self.reply(request)) for request in requests]

    def write(self, samples: Sequence[Sample] = SAMPLES) -> list[Expansion]:
        """Return the expansions of the samples that `self.ask` answers. `self.asked` collects the requests."""
        self.asked: list[Request] = []
        return self.component.write(samples, self.ask)

    def test_component_implements_its_protocol_and_is_its_own_expander(self) -> None:
        assert isinstance(self.component, AskedVariant)
        assert isinstance(self.component, Expander)
        assert list(self.component.variants) == [self.component]

    def test_variants_write_queries_for_every_sample_in_order(self) -> None:
        written = self.write()
        assert len(written) == len(SAMPLES)
        assert all(own.queries and not own.unread and not own.failed for own in written)
        assert sum(own.is_asked for own in written) == len(self.asked)
        assert written == [self.write([sample])[0] for sample in SAMPLES]

    def test_variant_that_promises_one_query_gives_one_per_sample(self) -> None:
        if self.component.gives_one_query:
            assert [len(own.queries) for own in self.write()] == [1] * len(SAMPLES)
        else:
            assert not self.component.reranker_reads

    def test_blank_question_is_not_sent_to_the_model(self) -> None:
        assert self.write()[3] == Expansion((" ",), is_asked=False)

    def test_empty_batch_of_samples_gives_an_empty_result(self) -> None:
        assert self.write(()) == []
        assert self.asked == []

    def test_requests_show_the_question_verbatim_and_no_reference(self) -> None:
        self.write([SAMPLES[2], TALK])
        shown = [request.messages[-1].content for request in self.asked]
        assert any(TALK.question in text for text in shown)
        assert all(SAMPLES[2].question in text for text in shown if TALK.question not in text)
        for request in self.asked:
            assert not any(part in str(request) for sample in SAMPLES for part in sample.references)
            assert not any(turn.answer in str(request) for turn in TALK.history)
            assert request.json_schema is not None

    def test_failed_or_unreadable_reply_keeps_the_question_and_is_reported(self) -> None:
        was_asked = [own.is_asked for own in self.write()]
        for state, told in ((AnswerState.OK, "unread"), (AnswerState.ERROR, "failed")):

            def ask(requests: Sequence[Request], state: AnswerState = state) -> list[Answer]:
                return [Answer(request.id, state, text="?", error="broken") for request in requests]

            written = self.component.write(SAMPLES, ask)
            assert [own.queries for own in written] == [(sample.question,) for sample in SAMPLES]
            assert [own.is_asked for own in written] == was_asked
            assert [bool(getattr(own, told)) for own in written] == was_asked
