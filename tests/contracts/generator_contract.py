"""The contract of every generator."""

import re
from collections.abc import Callable, Sequence

import pytest

from components.protocols import Generator
from components.records import Answer, AnswerState, AnswerTask, GeneratedAnswer, Kind, Message, Passage, Request, Sample
from tests.contracts.component_contract import ComponentContract

MAX_PASSAGES = 6


def task(n_passages: int, name: str = "s", question: str = "西湖{answer}在哪里？") -> AnswerTask:
    """Return a question with `n_passages` passages: "passage 1" and so on."""
    sample = Sample(name, "qa", Kind.QA, question, references=("参考答案",))
    return AnswerTask(sample, tuple(Passage(f"passage {n} {{question}}") for n in range(1, n_passages + 1)))


def render(sample: Sample, passages: Sequence[Passage]) -> tuple[Message, ...]:
    """A prompt of a system message, the question and the passages."""
    return Message("system", "Be kind."), Message("user", "\n".join([sample.question, *(p.text for p in passages)]))


def passage_numbers(request: Request) -> list[int]:
    """The numbers of the passages that a request shows."""
    return [int(n) for n in re.findall(r"passage (\d+) ", request.messages[-1].content)]


class Model:
    """Answers with `reply(request)`, and records the requests of each call."""

    def __init__(self, reply: Callable[[Request], str | Answer] = lambda request: f"answer to {request.id}") -> None:
        self._reply = reply
        self.calls: list[list[Request]] = []

    def __call__(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer as the runner's `Asker` does."""
        assert len({request.id for request in requests}) == len(requests)
        self.calls.append(list(requests))
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        reply = self._reply(request)
        if isinstance(reply, Answer):
            return reply
        state = AnswerState.OK if reply else AnswerState.EMPTY
        return Answer(request.id, state, reply, n_prompt_tokens=10, n_completion_tokens=1, latency_s=1.0)

    @property
    def asked(self) -> list[Request]:
        """All requests."""
        return [request for call in self.calls for request in call]


class GeneratorContract(ComponentContract):
    """Contract of generators."""

    component: Generator
    n_passage_tokens: int | None = None
    """Maximum number of tokens of a task's passages, if the generator is to know it."""

    def generate(self, model: Model, *tasks: AnswerTask) -> list[GeneratedAnswer]:
        """Answers to the tasks."""
        return self.component.generate(tasks, render, model)

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Generator)

    def test_generator_gives_one_answer_per_task_in_order(self) -> None:
        made = self.generate(Model(), task(3, "one"), task(0, "other"), task(MAX_PASSAGES, "third"))
        assert [each.answer.request_id for each in made] == ["one", "other", "third"]
        assert all(each.answer.state is AnswerState.OK and each.answer.text for each in made)
        assert all(each.prompt and each.path for each in made)

    def test_empty_batch_of_tasks_gives_no_answers(self) -> None:
        model = Model()
        assert self.generate(model) == []
        assert model.asked == []

    @pytest.mark.parametrize("n_passages", range(MAX_PASSAGES + 1))
    def test_generator_keeps_the_announced_numbers_of_requests_and_rounds(self, n_passages: int) -> None:
        model = Model()
        self.generate(model, task(n_passages))
        assert len(model.asked) <= self.component.n_requests(n_passages, self.n_passage_tokens)
        assert len(model.calls) <= self.component.n_rounds(n_passages)
        assert {request.draw for request in model.asked} == set(range(self.component.n_draws))

    @pytest.mark.parametrize("n_passages", range(MAX_PASSAGES + 1))
    def test_generator_shows_all_passages_in_order(self, n_passages: int) -> None:
        model = Model()
        self.generate(model, task(n_passages))
        numbers = [n for request in model.asked if request.draw == 0 for n in passage_numbers(request)]
        assert numbers == list(range(1, n_passages + 1))

    @pytest.mark.parametrize("n_passages", range(MAX_PASSAGES + 1))
    def test_single_request_contains_all_passages(self, n_passages: int) -> None:
        if self.component.n_requests(n_passages, self.n_passage_tokens) > 1:
            return
        model = Model()
        own = task(n_passages)
        self.generate(model, own)
        (request,) = model.asked
        assert request.messages == render(own.sample, own.passages)
        assert request.draw == 0

    def test_inserted_texts_are_not_read_as_templates(self) -> None:
        model = Model(lambda request: "{prompt} {answers}")
        self.generate(model, task(MAX_PASSAGES))
        for request in model.asked:
            assert "西湖{answer}在哪里？" in request.messages[-1].content
            assert request.messages[-1].content.count("{question}") == len(passage_numbers(request))

    def test_generator_never_shows_the_reference(self) -> None:
        model = Model()
        self.generate(model, task(MAX_PASSAGES))
        assert not any("参考答案" in message.content for request in model.asked for message in request.messages)

    def test_failed_request_fails_only_its_own_answer(self) -> None:
        def fails(request: Request) -> str | Answer:
            is_last = request.sample.id == "bad" and (MAX_PASSAGES in passage_numbers(request) or request.draw)
            return Answer(request.id, AnswerState.ERROR, error="broken") if is_last else "fine"

        model = Model(fails)
        good, bad = self.generate(model, task(MAX_PASSAGES, "good"), task(MAX_PASSAGES, "bad"))
        assert (good.answer.state, good.answer.text) == (AnswerState.OK, "fine")
        assert (bad.answer.state, bad.answer.text, bad.answer.error) == (AnswerState.ERROR, "", "broken")

    def test_generator_sums_the_tokens_of_all_requests(self) -> None:
        model = Model()
        (made,) = self.generate(model, task(MAX_PASSAGES))
        assert made.answer.n_prompt_tokens == 10 * len(model.asked)
        assert made.answer.n_completion_tokens == len(model.asked)
        assert made.answer.latency_s == len(model.calls)

    @pytest.mark.parametrize("state", [AnswerState.EMPTY, AnswerState.REFUSED, AnswerState.TRUNCATED])
    def test_answer_takes_the_state_that_all_replies_share(self, state: AnswerState) -> None:
        text = "cut" if state is AnswerState.TRUNCATED else ""
        (made,) = self.generate(Model(lambda request: Answer(request.id, state, text)), task(MAX_PASSAGES))
        assert (made.answer.state, made.answer.text) == (state, text)
