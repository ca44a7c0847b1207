"""The contract of every language model, and of every stand-in for one."""

from components.protocols import LLM, AnswersFrom
from components.records import AnswerState, ErrorClass, Kind, Message, Request, Sample, Turn
from tests.contracts.component_contract import ComponentContract
from tests.contracts.passages import make_passages

PASSAGES = ("西湖在杭州城西，面积6.5平方公里。游人很多。", "故宫在北京城中。它建成于1420年。")


def request(
    question: str, passages: tuple[str, ...] = PASSAGES, kind: Kind = Kind.QA, history: tuple[Turn, ...] = ()
) -> Request:
    """A request whose id is its kind and question."""
    sample = Sample(f"{kind}-{question}", "qa", kind, question, ("参考答案",), history=history)
    return Request(sample.id, (Message("user", question),), sample, make_passages(*passages))


REQUESTS = (
    *(request("西湖在哪里？", kind=kind) for kind in Kind),
    request("故宫建成于哪年？"),
    request("没有资料？", ()),
    request("空白资料？", ("", " \n", "。")),
    request("它呢？", kind=Kind.CONVERSATION, history=(Turn("西湖在哪里？", "杭州。"),)),
)


class LLMContract(ComponentContract):
    """Contract of language models."""

    component: LLM

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, LLM)
        assert isinstance(self.component.answers_from, AnswersFrom)

    def test_llm_returns_exactly_one_answer_per_request(self) -> None:
        answers = list(self.component.generate(REQUESTS))
        assert sorted(answer.request_id for answer in answers) == sorted(request.id for request in REQUESTS)

    def test_answer_text_and_error_match_the_answer_state(self) -> None:
        for answer in self.component.generate(REQUESTS):
            assert isinstance(answer.state, AnswerState)
            if answer.state is not AnswerState.TRUNCATED:  # all may have been thoughts
                assert bool(answer.text) == (answer.state is AnswerState.OK)
            assert bool(answer.error) == (answer.state is AnswerState.ERROR)
            assert isinstance(answer.error_class, ErrorClass) == (answer.state is AnswerState.ERROR)

    def test_token_counts_and_latency_are_not_negative(self) -> None:
        for answer in self.component.generate(REQUESTS):
            counts = (answer.n_prompt_tokens, answer.n_completion_tokens, answer.n_reasoning_tokens)
            assert all(count is None or count >= 0 for count in counts)
            assert answer.latency_s >= 0

    def test_llm_does_not_read_the_reference(self) -> None:
        assert all("参考答案" not in answer.text for answer in self.component.generate(REQUESTS))

    def test_empty_batch_of_requests_gives_no_answers(self) -> None:
        assert list(self.component.generate([])) == []

    def test_llm_generation_is_deterministic(self) -> None:
        first, second = (
            {answer.request_id: (answer.state, answer.text) for answer in self.component.generate(REQUESTS)}
            for _ in range(2)
        )
        assert first == second
