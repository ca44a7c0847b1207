"""Requests and tokens per minute, spread evenly.

Each limit has a place on the clock: the next request is sent when it is reached, and moves it on by its own share of a
minute. In any minute no more is sent than the limit and what `_CATCH_UP_S` of it are worth; a bucket that may run full
in a pause would let twice the limit through.
"""

from dataclasses import dataclass

_MINUTE_S = 60.0
_CATCH_UP_S = 0.1
"""Who comes late to a turn still has it: no sleep ends to the millisecond."""
_CLOCK_SET_BACK_S = 5.0


@dataclass
class Pace:
    """Where the limits of one account stand, in seconds since the epoch: four numbers that processes may share."""

    seen: float = 0.0
    next_request: float = 0.0
    next_tokens: float = 0.0
    held_until: float = 0.0

    def wait_s(self, now: float, max_requests_per_minute: int | None, max_tokens_per_minute: int | None) -> float:
        """Seconds until it is time for a request; 0.0 if it is."""
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
        """A request of so many tokens is sent."""
        earliest = now - _CATCH_UP_S
        if max_requests_per_minute:
            self.next_request = max(self.next_request, earliest) + _MINUTE_S / max_requests_per_minute
        if max_tokens_per_minute:
            self.next_tokens = max(self.next_tokens, earliest) + _MINUTE_S * n_tokens / max_tokens_per_minute

    def give_back(self, max_tokens_per_minute: int | None, n_tokens: int) -> None:
        """Tokens that a request was thought to take and did not; below 0 if it took more. A request that took more
        delays the next one by a minute at most: a server may report any number.
        """
        if max_tokens_per_minute:
            self.next_tokens -= max(_MINUTE_S * n_tokens / max_tokens_per_minute, -_MINUTE_S)

    def hold(self, now: float, seconds: float) -> None:
        """Nothing is to be sent for so long."""
        self.held_until = max(self.held_until, now + seconds)
