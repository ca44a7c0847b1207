"""When the breaker stops requests to a server, and when it allows them again."""

import pytest

from components.openai_server import breaker as module
from components.openai_server.breaker import Breaker, Health
from components.openai_server.server_errors import Disconnected, HttpError, Refused
from components.records import ErrorClass

BUSY, TOO_LONG, NO_KEY = (HttpError(status, "", {}) for status in (503, 400, 401))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the monotonic clock. The only number in the list is the time."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def fail(breaker: Breaker, n: int, error: Exception = BUSY) -> None:
    for _ in range(n):
        breaker.record_failure(error, "why")


def test_breaker_counts_consecutive_failures_over_all_calls() -> None:
    health = Health()
    for _ in range(4):
        breaker = Breaker(2, health)
        assert not breaker.is_open
        fail(breaker, 3)
    assert breaker.is_open
    assert (health.reason, health.error_class) == ("why", ErrorClass.SERVER)


def test_breaker_is_reset_by_a_request_specific_failure() -> None:
    health = Health()
    fail(Breaker(2, health), 9)
    fail(Breaker(2, health), 1, TOO_LONG)
    last = Breaker(2, health)
    fail(last, 9)
    assert not last.is_open


def test_key_accepted_once_keeps_the_breaker_closed_in_later_calls() -> None:
    health = Health()
    Breaker(2, health).record_success()
    breaker = Breaker(2, health)
    breaker.record_failure(NO_KEY, "why")
    assert not breaker.is_open


def test_breaker_tries_an_unavailable_server_again_after_a_minute(clock: list[float]) -> None:
    health = Health()
    Breaker(2, health).record_failure(NO_KEY, "no such key")
    clock[0] += 59
    left_alone = Breaker(2, health)
    assert (left_alone.is_open, left_alone.reason) == (True, "no such key")
    clock[0] += 2
    trial = Breaker(2, health)
    assert not trial.is_open
    assert not trial.is_worth_a_retry(BUSY)
    trial.record_failure(BUSY, "still down")
    assert trial.is_open
    assert Breaker(2, health).reason == "still down"


def test_breaker_counts_from_zero_after_a_success(clock: list[float]) -> None:
    health = Health()
    fail(Breaker(2, health), 10)
    clock[0] += 61
    trial = Breaker(2, health)
    trial.record_success()
    fail(trial, 9)
    assert not trial.is_open
    assert trial.is_worth_a_retry(BUSY)


def test_unreachable_server_is_retried_only_after_a_success() -> None:
    health = Health()
    breaker = Breaker(2, health)
    assert not breaker.is_worth_a_retry(Refused())
    assert breaker.is_worth_a_retry(Disconnected())
    breaker.record_success()
    assert Breaker(2, health).is_worth_a_retry(Refused()), "it may be starting again"


def test_breaker_state_is_not_shared_between_endpoints() -> None:
    fail(Breaker(2), 10)
    assert not Breaker(2).is_open
