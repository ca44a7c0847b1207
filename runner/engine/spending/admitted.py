"""Requests to models that pass no gate by themselves: those in this process, and other packages' clients."""

import time
from collections import deque
from collections.abc import Iterator, Sequence

from components.errors import BudgetReached
from components.openai_server.gate import Account, Attempt, Gate, OwnGate, Tokens, n_tokens_at_most, passing
from components.protocols import LLM
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from runner.engine.checked_answers import checked_answers

_LONGEST_S = 3600.0
"""No answer is thought to take longer: only then what other processes set aside of a budget is given up."""


def admitted(llm: LLM, requests: Sequence[Request], gate: Gate) -> Iterator[Answer]:
    """Answers as they come. The model is given as many requests at once as the gate lets through; BudgetReached is
    raised when these are answered, and ComponentError for an answer that `checked_answers` refuses.
    """
    waiting = deque((request, _attempt(llm, request)) for request in requests)
    own = OwnGate(gate.health)  # what the model itself may ask of a server is counted here already
    while waiting:
        under_way = _let_through(waiting, gate)
        try:
            answers = checked_answers(llm, [request for request, _ in under_way.values()])
            while answer := _next(answers, own):
                if answer.request_id in under_way:
                    _, attempt = under_way.pop(answer.request_id)
                    gate.settle(attempt, _used(answer, attempt.most))
                yield answer
        finally:
            for _, attempt in under_way.values():
                gate.settle(attempt, None)


def _let_through(waiting: deque[tuple[Request, Attempt]], gate: Gate) -> dict[str, tuple[Request, Attempt]]:
    """The first ones, at least one, by id; they wait no more. Raises BudgetReached if not one is let through."""
    let: dict[str, tuple[Request, Attempt]] = {}
    while waiting:
        try:
            wait_s = gate.admit(waiting[0][1])
        except BudgetReached:
            if not let:
                raise
            return let
        if not wait_s:
            request, attempt = waiting.popleft()
            let[request.id] = request, attempt
        elif let:
            return let
        else:
            time.sleep(wait_s)
    return let


def _next(answers: Iterator[Answer], gate: Gate) -> Answer | None:
    """A generator runs in the context of whoever asks it for the next: it is set for this moment alone."""
    with passing(gate):
        return next(answers, None)


def _attempt(llm: LLM, request: Request) -> Attempt:
    return Attempt(account_of(llm), most_tokens(llm, request.messages), _LONGEST_S)


def account_of(model: object) -> Account:
    """That of a component behind a server; for any other model one without limits, by which its price is found."""
    account = getattr(model, "account", None)
    if isinstance(account, Account):
        return account
    return Account("", getattr(model, "model", type(model).__name__), "", is_free=getattr(model, "is_free", False))


def most_tokens(llm: LLM, messages: Sequence[Message]) -> Tokens:
    """What a request takes at most, as far as its texts and the model's fields tell."""
    n_bytes = sum(len(message.content.encode(errors="replace")) for message in messages)
    return Tokens(n_tokens_at_most(n_bytes), getattr(llm, "max_new_tokens", 0))


def _used(answer: Answer, most: Tokens) -> Tokens | None:
    """None for a failed answer: nobody knows how far it came. But a prompt that is too long is not even begun. What was
    not counted is taken to be the most.
    """
    if answer.state is AnswerState.ERROR and answer.error_class is not ErrorClass.TOO_LONG:
        return None
    n_prompt, n_completion = answer.n_prompt_tokens, answer.n_completion_tokens
    return Tokens(
        most.n_prompt if n_prompt is None else n_prompt,
        most.n_completion if n_completion is None else n_completion,
        answer.n_cached_tokens,
    )
