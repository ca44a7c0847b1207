"""The contract of every iterative search."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from components.protocols import IterativeSearch, SingleSearch
from components.records import Answer, AnswerState, NextSearch, Passage, Request, SearchTrail
from tests.contracts.component_contract import ComponentContract

FOUND = ((Passage("It is red.", "The bridge"), Passage("{question} and\n{steps}")), (Passage("西湖在杭州。"),))
TRAILS = (
    SearchTrail("Who designed the bridge?", FOUND[:1], ()),
    SearchTrail("earlier\nWhere is {passages}?", FOUND, (NextSearch("the lake", "a thought"),)),
    SearchTrail("西湖在哪里？", ((), ()), (NextSearch("杭州"),)),
)


class IterationContract(ComponentContract):
    """Contract of components that search again."""

    component: IterativeSearch
    first: tuple[NextSearch, ...] = ()
    """The decision before the first search that leads to further ones."""

    @abstractmethod
    def reply(self, request: Request) -> str:
        """Return a reply that requests another search."""

    def trails(self) -> list[SearchTrail]:
        return [replace(trail, steps=(*self.first, *trail.steps)) for trail in TRAILS]

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer as the asking service does."""
        assert len({request.id for request in requests}) == len(requests)
        self.asked += requests
        return [Answer(request.id, AnswerState.OK, self.reply(request)) for request in requests]

    def decide(self, trails: Sequence[SearchTrail]) -> list[NextSearch]:
        self.asked: list[Request] = []
        return self.component.decide(trails, self.ask)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, IterativeSearch)
        assert not isinstance(self.component, SingleSearch)
        assert self.component.max_searches >= 2
        assert self.component.n_passages >= 1

    def test_iteration_sends_one_request_per_trail_and_returns_one_decision(self) -> None:
        decided = self.decide(self.trails())
        assert len(decided) == len(self.asked) == len(TRAILS)
        assert all(own.query and own.is_asked and not own.unread and not own.failed for own in decided)
        assert decided == [self.decide([trail])[0] for trail in self.trails()]

    def test_iteration_requests_show_question_passages_and_steps_verbatim(self) -> None:
        self.decide(self.trails())
        for request, trail in zip(self.asked, TRAILS, strict=True):
            shown = request.messages[-1].content
            assert trail.question in shown
            assert all(" ".join(passage.text.split()) in shown for found in trail.passages for passage in found)
            assert all(text in shown for step in trail.steps for text in (step.query, step.thought))
            assert request.json_schema is not None

    def test_empty_batch_of_trails_gives_an_empty_result(self) -> None:
        assert self.decide(()) == []
        assert self.asked == []

    def test_failed_and_unreadable_replies_end_the_search_and_are_reported(self) -> None:
        for state, reported in ((AnswerState.OK, "unread"), (AnswerState.ERROR, "failed")):

            def ask(requests: Sequence[Request], state: AnswerState = state) -> list[Answer]:
                return [Answer(request.id, state, text="{", error="broken") for request in requests]

            decided = self.component.decide(self.trails(), ask)
            assert [(own.query, bool(getattr(own, reported))) for own in decided] == [("", True)] * len(TRAILS)
