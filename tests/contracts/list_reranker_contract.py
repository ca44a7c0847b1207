"""The contract of every reranker that has a language model order the hits."""

from collections.abc import Sequence

from components.protocols import ListReranker
from components.records import Answer, AnswerState, HitOrder, Request
from tests.contracts.component_contract import ComponentContract

QUERIES = ("西湖在哪里？", "Where is the lake?", "", "nothing")
HITS = (
    ("西湖在杭州。", "故宫在北京。", "央行下调利率。", "杭州的西湖"),
    ("In the west.", "By the river, {question}.", "[1] > [2]"),
    ("one", "two"),
    (),
)


class ListRerankerContract(ComponentContract):
    """Contract of rerankers that use a language model."""

    component: ListReranker

    def reply(self, request: Request) -> str:
        """Return a readable reply to a request of the component."""
        raise NotImplementedError

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer as the asking service does."""
        assert len({request.id for request in requests}) == len(requests)
        self.asked += requests
        return [Answer(request.id, AnswerState.OK, self.reply(request)) for request in requests]

    def rank(self, queries: Sequence[str] = QUERIES, hits: Sequence[Sequence[str]] = HITS) -> list[HitOrder]:
        """Return the orders by `self.ask`. `self.asked` collects the requests."""
        self.asked: list[Request] = []
        return self.component.rank(queries, hits, self.ask)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, ListReranker)

    def test_list_reranker_returns_one_order_of_all_hits_per_query(self) -> None:
        orders = self.rank()
        assert [sorted(order.order) for order in orders] == [list(range(len(own))) for own in HITS]
        assert not any(order.unread or order.failed for order in orders)

    def test_empty_batch_of_queries_gives_an_empty_result(self) -> None:
        assert self.rank((), ()) == []
        assert self.asked == []

    def test_list_reranker_sends_the_announced_number_of_requests(self) -> None:
        for n_hits in range(7):
            self.rank(["q"], [["a", "b", "c", "d", "e", "f", "g"][:n_hits]])
            assert len(self.asked) == self.component.n_requests(n_hits)

    def test_list_reranker_requests_show_question_and_hits_verbatim(self) -> None:
        self.rank(["What is {passages}?"], [["{question}", "other"]])
        for request in self.asked:
            shown = request.messages[-1].content
            assert "What is {passages}?" in shown
            assert "{question}" in shown or "other" in shown
            assert request.json_schema is not None

    def test_failed_or_unreadable_reply_moves_no_hit_and_is_reported(self) -> None:
        for state, told in ((AnswerState.OK, "unread"), (AnswerState.ERROR, "failed")):

            def ask(requests: Sequence[Request], state: AnswerState = state) -> list[Answer]:
                return [Answer(request.id, state, text="?", error="broken") for request in requests]

            orders = self.component.rank(QUERIES, HITS, ask)
            assert [order.order for order in orders] == [tuple(range(len(own))) for own in HITS]
            assert [bool(getattr(order, told)) for order in orders] == [len(own) > 1 for own in HITS]
