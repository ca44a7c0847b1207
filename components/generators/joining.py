"""Answers built from several replies: their total usage, and their state."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from components.records import Answer, AnswerState


def add_earlier_answers(answer: Answer, before: Sequence[Answer]) -> Answer:
    """Return an answer that depends on earlier, concurrent answers, with the tokens and the time of all.

    It is TRUNCATED if one of the earlier answers was cut off.
    """
    latency_s = answer.latency_s + max((other.latency_s for other in before), default=0.0)
    return replace(mark_truncated(_add_tokens(answer, before), before), latency_s=latency_s)


def choose_answer(answer: Answer, others: Sequence[Answer]) -> Answer:
    """Return one of several concurrent answers, with the tokens of all and the time of the slowest."""
    latency_s = max([answer.latency_s, *(other.latency_s for other in others)])
    return replace(_add_tokens(answer, others), latency_s=latency_s)


def mark_truncated(answer: Answer, others: Iterable[Answer]) -> Answer:
    """Replace the state OK by TRUNCATED if one of the others, whose text is part of the answer, was cut off."""
    is_cut = answer.state is AnswerState.OK and any(other.state is AnswerState.TRUNCATED for other in others)
    return replace(answer, state=AnswerState.TRUNCATED) if is_cut else answer


def first_failed(answers: Iterable[Answer]) -> Answer | None:
    """Return a failed request, if there is one.

    An answer built on it has failed too, and a later run tries it again. Otherwise a different answer would result, and
    its missing part would remain unnoticed.
    """
    return next((answer for answer in answers if answer.state is AnswerState.ERROR), None)


def _add_tokens(answer: Answer, others: Sequence[Answer]) -> Answer:
    answers = [answer, *others]
    return replace(
        answer,
        n_prompt_tokens=_sum([one.n_prompt_tokens for one in answers]),
        n_completion_tokens=_sum([one.n_completion_tokens for one in answers]),
        n_reasoning_tokens=_sum([one.n_reasoning_tokens for one in answers]),
        n_cached_tokens=sum(one.n_cached_tokens for one in answers),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum, None if a count is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
