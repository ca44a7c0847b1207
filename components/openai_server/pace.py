"""Requests and tokens per minute, spread evenly.

Each limit has a next time. A request is sent when that time is reached, and then moves it by the request's share of a
minute. In any minute, at most the limit is sent plus the amount of `_CATCH_UP_S`. A token bucket that fills during a
pause would allow twice the limit.
"""

from dataclasses import dataclass

_MINUTE_S = 60.0
_CATCH_UP_S = 0.1
"""A request that is late by less than this loses no time, because sleeps do not end exactly."""
_CLOCK_SET_BACK_S = 5.0
"""A clock that is set back by more than these seconds resets the next times: otherwise requests would wait as long."""


@dataclass
class Pace:
    """State of one account's limits: four times in seconds since the epoch, which processes may share."""

    seen: float = 0.0
    next_request: float = 0.0
    next_tokens: float = 0.0
    held_until: float = 0.0

    def wait_s(self, now: float, max_requests_per_minute: int | None, max_tokens_per_minute: int | None) -> float:
        """Return the seconds until the next request may be sent, 0.0 if it may be sent now."""
        if now < self.seen - _CLOCK_SET_BACK_S:
            self.next_request = self.next_tokens = self.held_until = now
        self.seen = now
        turn = max(
            self.held_until,
            self.next_request if max_requests_per_minute else 0.0,
            self.next_tokens if max_tokens_per_minute else 0.0,
        )
        return max(0.0, turn - now)

    def take_turn(
        self, now: float, max_requests_per_minute: int | None, max_tokens_per_minute: int | None, n_tokens: int
    ) -> None:
        """Record that a request of `n_tokens` tokens is sent."""
        earliest = now - _CATCH_UP_S
        if max_requests_per_minute:
            self.next_request = max(self.next_request, earliest) + _MINUTE_S / max_requests_per_minute
        if max_tokens_per_minute:
            self.next_tokens = max(self.next_tokens, earliest) + _MINUTE_S * n_tokens / max_tokens_per_minute

    def give_back(self, max_tokens_per_minute: int | None, n_tokens: int) -> None:
        """Return reserved tokens that a request did not use; `n_tokens` is negative if it used more than reserved.

        Extra tokens delay the next request by at most a minute, because a server may report any number.
        """
        if max_tokens_per_minute:
            self.next_tokens -= max(_MINUTE_S * n_tokens / max_tokens_per_minute, -_MINUTE_S)

    def hold(self, now: float, seconds: float) -> None:
        """Send no request for `seconds` from now on."""
        self.held_until = max(self.held_until, now + seconds)
