"""Limits of accounts as servers enforce them, in virtual time: the short form of `python -m benchmarks rate_limits`."""

import asyncio
import random
import re
from collections.abc import Iterator

import pytest

from benchmarks.rate_limits import DELAYS, SETTINGS, Account, Setting, send, virtual_time
from components.openai_server.server_errors import HttpError, classify_error, is_temporary
from components.records import ErrorClass


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with virtual_time() as loop:
        yield loop


@pytest.mark.parametrize("retry_after", DELAYS)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_request_is_answered_under_a_rate_limit(
    loop: asyncio.AbstractEventLoop, setting: Setting, retry_after: str
) -> None:
    n = setting.n // 2
    failures, seconds = send(loop, Account(**setting.limits, retry_after=retry_after), n, setting.sizes)
    assert not failures
    assert seconds <= 2 * setting.ideal_s * n / setting.n + 10


@pytest.mark.parametrize(("lasts_for", "concurrency"), [(0, 8), (50, 8), (0, 32)])
def test_used_up_account_is_given_up_within_minutes(
    loop: asyncio.AbstractEventLoop, lasts_for: int, concurrency: int
) -> None:
    account = Account(lasts_for=lasts_for)
    failures, seconds = send(loop, account, 200, concurrency=concurrency)
    assert len(failures) == 200 - lasts_for
    assert 100 < seconds < 200
    assert account.n_refused < 4 * concurrency + 40


def test_failure_says_how_long_the_account_was_silent(loop: asyncio.AbstractEventLoop) -> None:
    (failed,) = send(loop, Account(lasts_for=0), 1)[0]
    assert re.search(r"Too many requests \(attempt \d+\); no request was answered for 1[0-9]{2} s", failed)


@pytest.mark.parametrize("retry_after", DELAYS)
def test_only_prompts_above_the_token_limit_fail(loop: asyncio.AbstractEventLoop, retry_after: str) -> None:
    sizes = (100, 6_500)
    n_too_long = sum(random.Random(item).randint(*sizes) > 6_000 for item in range(100))
    failures, _ = send(loop, Account(n_tokens=6_000, bucket=True, retry_after=retry_after), 100, sizes, concurrency=2)
    assert len(failures) == n_too_long > 3
    reasons = ("times while", "no request was answered for")
    assert all(any(reason in failure for reason in reasons) for failure in failures)


@pytest.mark.parametrize("max_retries", [0, 5])
def test_without_retries_no_refused_request_is_sent_again(loop: asyncio.AbstractEventLoop, max_retries: int) -> None:
    account = Account(n_at_once=4)
    failures, _ = send(loop, account, 40, max_retries=max_retries)
    assert bool(failures) is (max_retries == 0)
    assert not failures or len(failures) == account.n_refused


def test_delay_of_a_day_is_not_waited_for(loop: asyncio.AbstractEventLoop) -> None:
    (failed,), seconds = send(loop, Account(lasts_for=0, retry_after="86400"), 1)
    assert failed.endswith("(attempt 1); the server asks us to wait 86,400 s")
    assert seconds < 1


@pytest.mark.parametrize(("max_retries", "low", "high"), [(0, 0, 1), (1, 5, 20), (20, 2_300, 2_500)])
def test_retries_bound_the_time_for_a_silent_account(
    loop: asyncio.AbstractEventLoop, max_retries: int, low: float, high: float
) -> None:
    assert low <= send(loop, Account(lasts_for=0), 1, max_retries=max_retries)[1] <= high


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Request too large on tokens per min (TPM): Limit 30000, Requested 44525.", ErrorClass.TOO_LONG),
        ("Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500.", ErrorClass.RATE_LIMIT),
        ("Limit exceeded. Requested 5", ErrorClass.RATE_LIMIT),
    ],
)
def test_request_above_the_limit_is_not_sent_again(message: str, expected: ErrorClass) -> None:
    error = HttpError(429, {"message": message, "code": "rate_limit_exceeded"}, {})
    assert classify_error(error) is expected
    assert is_temporary(error) is (expected is ErrorClass.RATE_LIMIT)
