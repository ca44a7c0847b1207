"""When the next request is sent, on a clock that advances only when the test moves it."""

import pytest

from components.openai_server.pace import Pace


def sending_times(pace: Pace, n: int, *limits: int | None, n_tokens: int = 0, start: float = 1000.0) -> list[float]:
    """Return the seconds after `start` at which each of `n` requests is sent by a client that waits as requested."""
    now, times = start, []
    while len(times) < n:
        if wait_s := pace.wait_s(now, *limits):
            now += wait_s
        else:
            pace.take_turn(now, *limits, n_tokens)
            times.append(round(now - start, 6))
    return times


def test_requests_without_rate_limits_do_not_wait() -> None:
    assert sending_times(Pace(), 5, None, None, n_tokens=10**6) == [0.0] * 5


def test_requests_per_minute_are_spread_over_the_minute() -> None:
    times = sending_times(Pace(), 61, 60, None)
    assert times[:3] == pytest.approx([0.0, 0.9, 1.9]), "the first may come 0.1 s late"
    assert times[60] == pytest.approx(59.9)


def test_tokens_per_minute_are_spread_over_the_minute() -> None:
    assert sending_times(Pace(), 4, None, 600, n_tokens=20)[1:] == pytest.approx([1.9, 3.9, 5.9])


def test_tighter_rate_limit_determines_the_pace() -> None:
    assert sending_times(Pace(), 3, 600, 600, n_tokens=20)[2] == pytest.approx(3.9)
    assert sending_times(Pace(), 3, 30, 6000, n_tokens=20)[2] == pytest.approx(3.9)


def test_idle_time_saves_up_only_a_short_burst() -> None:
    pace = Pace()
    sending_times(pace, 10, 600, None)
    times = sending_times(pace, 20, 600, None, start=5000.0)
    assert times[2] == pytest.approx(0.1)
    assert times[19] == pytest.approx(1.8)


def test_unused_tokens_shorten_the_next_wait() -> None:
    pace = Pace()
    sending_times(pace, 1, None, 600, n_tokens=100)
    assert pace.wait_s(1000.0, None, 600) == pytest.approx(9.9)
    pace.give_back(600, 90)
    assert pace.wait_s(1000.0, None, 600) == pytest.approx(0.9)


def test_large_overuse_delays_the_next_request_by_at_most_a_minute() -> None:
    pace = Pace()
    pace.take_turn(100.0, None, 600, 10)
    pace.give_back(600, -(10**9))
    assert pace.wait_s(100.0, None, 600) == pytest.approx(61.0, abs=0.2)


def test_shorter_hold_does_not_shorten_an_active_hold() -> None:
    pace = Pace()
    pace.hold(1000.0, 30.0)
    pace.hold(1000.0, 5.0)
    assert pace.wait_s(1010.0, None, None) == pytest.approx(20.0)
    assert pace.wait_s(1030.0, None, None) == 0.0


def test_clock_set_back_does_not_block_requests() -> None:
    pace = Pace()
    sending_times(pace, 3, 60, None, start=10_000.0)
    assert pace.wait_s(1000.0, 60, None) == 0.0
