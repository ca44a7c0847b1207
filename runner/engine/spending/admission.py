"""Limiter for models that do not pass it themselves: models in this process and clients from other packages."""

import time
from collections import deque
from collections.abc import Iterator, Sequence

from components.errors import BudgetReached
from components.openai_server.breaker import NOT_SENT
from components.openai_server.limiter import (
    Account,
    Attempt,
    Limiter,
    ProcessLimiter,
    Tokens,
    estimate_max_tokens,
    use_limiter,
)
from components.protocols import LLM
from components.records import Answer, AnswerState, ErrorClass, Message, Request
from runner.engine.checked_answers import validate_answers
from runner.engine.store.held_locks import LockLost

_MAX_ANSWER_S = 3600.0
"""Longest time that an answer may take. Only after it are reservations of other processes presumed dead."""


def admit_requests(llm: LLM, requests: Sequence[Request], limiter: Limiter) -> Iterator[Answer]:
    """Yield answers as they arrive. Each call of the model gets as many requests as the limiter admits.

    Raises BudgetReached after the answers to all admitted requests, and ComponentError for an answer that
    `validate_answers` refuses.
    """
    waiting = deque((request, _attempt(llm, request)) for request in requests)
    own_limiter = ProcessLimiter(limiter.health)  # requests of the model itself are already counted here
    while waiting:
        under_way = _admit_first(waiting, limiter)
        try:
            answers = validate_answers(llm, [request for request, _ in under_way.values()])
            while answer := _next(answers, own_limiter):
                if answer.request_id in under_way:
                    _, attempt = under_way.pop(answer.request_id)
                    if answer.error.startswith(NOT_SENT):
                        limiter.withdraw(attempt)
                    else:
                        limiter.settle(attempt, _used_tokens(answer, attempt.max_tokens))
                yield answer
        finally:
            for _, attempt in under_way.values():
                limiter.settle(attempt, None)


def _admit_first(waiting: deque[tuple[Request, Attempt]], limiter: Limiter) -> dict[str, tuple[Request, Attempt]]:
    """Remove the first requests that the limiter admits from `waiting` and return them by id. Waits for at least one.

    Raises BudgetReached if the limiter refuses the first one.
    """
    admitted_requests: dict[str, tuple[Request, Attempt]] = {}
    while waiting:
        try:
            wait_s = limiter.admit(waiting[0][1])
        except (BudgetReached, LockLost):
            if not admitted_requests:
                raise
            return admitted_requests
        if not wait_s:
            request, attempt = waiting.popleft()
            admitted_requests[request.id] = request, attempt
        elif admitted_requests:
            return admitted_requests
        else:
            time.sleep(wait_s)
    return admitted_requests


def _next(answers: Iterator[Answer], limiter: Limiter) -> Answer | None:
    """Return the next answer, or None at the end. Sets the limiter only for this call, because a generator runs in the
    context of its caller.
    """
    with use_limiter(limiter):
        return next(answers, None)


def _attempt(llm: LLM, request: Request) -> Attempt:
    return Attempt(model_account(llm), max_request_tokens(llm, request.messages), _MAX_ANSWER_S)


def model_account(model: object) -> Account:
    """Return the account of a model. A model that has no account gets one without limits, which finds its price."""
    account = getattr(model, "account", None)
    if isinstance(account, Account):
        return account
    return Account("", getattr(model, "model", type(model).__name__), "", is_free=getattr(model, "is_free", False))


def max_request_tokens(llm: LLM, messages: Sequence[Message]) -> Tokens:
    """Return the maximum number of tokens of a request, estimated from its messages and the model's fields."""
    n_bytes = sum(len(message.content.encode(errors="replace")) for message in messages)
    return Tokens(estimate_max_tokens(n_bytes), getattr(llm, "max_new_tokens", 0))


def has_token_limit(llm: LLM) -> bool:
    """Return False for a custom pipeline, which may use any number of tokens for a question."""
    return getattr(llm, "is_built_in", True) is not False


def _used_tokens(answer: Answer, max_tokens: Tokens) -> Tokens | None:
    """Return the tokens that an answer took. Tokens that were not counted equal the maximum.

    None for a failed answer, because the server may have worked on it. A prompt that is too long is refused before any
    work.
    """
    if answer.state is AnswerState.ERROR and answer.error_class is not ErrorClass.TOO_LONG:
        return None
    n_prompt, n_completion = answer.n_prompt_tokens, answer.n_completion_tokens
    return Tokens(
        max_tokens.n_prompt if n_prompt is None else n_prompt,
        max_tokens.n_completion if n_completion is None else n_completion,
        answer.n_cached_tokens,
    )
