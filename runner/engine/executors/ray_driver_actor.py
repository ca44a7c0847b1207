"""An actor on the command's machine that holds its limiter and collects the log lines of its Ray workers.

Every request to a model passes this limiter, because the files of rate limits and budgets are on that machine.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.errors import RagGridError
from components.openai_server.breaker import Health
from components.openai_server.limiter import Account, Attempt, Limiter, Tokens
from runner.engine.executors.ray_cluster_actors import Actor, Call

Line = tuple[int, str, str]
"""A log line of a worker: level, name of the logger, message."""


class DriverActor:
    """The actor. All its methods except `news` return immediately."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._lines: list[Line] = []
        self._seen_lines: set[Line] = set()
        self._has_news = asyncio.Event()

    async def admit(self, attempt: Attempt) -> float | RagGridError:
        """Call `Limiter.admit`. Returns its error instead of raising it."""
        try:
            return self._limiter.admit(attempt)
        except RagGridError as error:
            return error

    async def settle(self, attempt: Attempt, used: Tokens | None) -> RagGridError | None:
        """Call `Limiter.settle`. Returns its error instead of raising it."""
        try:
            self._limiter.settle(attempt, used)
        except RagGridError as error:
            return error
        return None

    async def withdraw(self, attempt: Attempt) -> RagGridError | None:
        """Call `Limiter.withdraw`. Returns its error instead of raising it."""
        try:
            self._limiter.withdraw(attempt)
        except RagGridError as error:
            return error
        return None

    async def hold(self, account: Account, seconds: float) -> RagGridError | None:
        """Call `Limiter.hold`. Returns its error instead of raising it."""
        try:
            self._limiter.hold(account, seconds)
        except RagGridError as error:
            return error
        return None

    async def say(self, line: Line) -> None:
        """Take a log line of a worker. Equal lines of several workers are logged once."""
        if line not in self._seen_lines:
            self._seen_lines.add(line)
            self._lines.append(line)
            self._has_news.set()

    async def news(self) -> list[Line]:
        """Wait for log lines and return those since the last call. Empty once the actor is closed."""
        await self._has_news.wait()
        self._has_news.clear()
        lines, self._lines = self._lines, []
        return lines

    async def close(self) -> None:
        """End the wait for log lines."""
        self._has_news.set()


def wait_for_result(call: Call) -> Any:  # Ray's return values are untyped
    """Wait for the result of an actor's method and return it. A result that is a RagGridError is raised."""
    import ray

    result = ray.get(call)
    if isinstance(result, RagGridError):
        raise result
    return result


@dataclass
class ForwardingLimiter:
    """The limiter of a worker. It forwards calls to the driver's actor, which takes less than a millisecond."""

    driver: Actor

    def __post_init__(self) -> None:
        self._healths: defaultdict[str, Health] = defaultdict(Health)

    def admit(self, attempt: Attempt) -> float:
        wait_s: float = wait_for_result(self.driver.admit.remote(attempt))
        return wait_s

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        wait_for_result(self.driver.settle.remote(attempt, used))

    def withdraw(self, attempt: Attempt) -> None:
        wait_for_result(self.driver.withdraw.remote(attempt))

    def hold(self, account: Account, seconds: float) -> None:
        wait_for_result(self.driver.hold.remote(account, seconds))

    def health(self, endpoint: str) -> Health:
        return self._healths[endpoint]


class ForwardingLogHandler(logging.Handler):
    """Forwards warnings of a worker to the driver's actor, except Ray's warnings."""

    def __init__(self, driver: Actor) -> None:
        super().__init__(logging.WARNING)
        self._driver = driver

    def emit(self, record: logging.LogRecord) -> None:
        """Return once the actor has the line, so that it arrives before the outcome of its stage."""
        import ray

        if not record.name.startswith("ray"):
            ray.get(self._driver.say.remote((record.levelno, record.name, record.getMessage())))


def log_worker_lines(lines: Sequence[Line]) -> None:
    """Log lines of workers in this process."""
    for level, name, message in lines:
        logging.getLogger(name).log(level, "%s", message)
