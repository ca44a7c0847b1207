"""What the workers of a Ray cluster share with the command that started them: the gate that all attempts to ask a model
pass, and what they have to say. Both are an actor beside that command, where the files of rate limits and budgets are.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.errors import RagGridError
from components.openai_server.breaker import Health
from components.openai_server.gate import Account, Attempt, Gate, Tokens

Line = tuple[int, str, str]
"""What a worker logged: the level, the name of its logger, and the message."""

DeskActor = Any  # a handle of Ray's on a `Desk`, which knows no types


class Desk:
    """The actor. Its methods return at once, but for `news`."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._lines: list[Line] = []
        self._said: set[Line] = set()
        self._has_news = asyncio.Event()

    async def admit(self, attempt: Attempt) -> float | RagGridError:
        """As that of the gate; what that would raise is returned."""
        try:
            return self._gate.admit(attempt)
        except RagGridError as error:
            return error

    async def settle(self, attempt: Attempt, used: Tokens | None) -> RagGridError | None:
        """As that of the gate; what that would raise is returned."""
        try:
            self._gate.settle(attempt, used)
        except RagGridError as error:
            return error
        return None

    async def withdraw(self, attempt: Attempt) -> RagGridError | None:
        """As that of the gate; what that would raise is returned."""
        try:
            self._gate.withdraw(attempt)
        except RagGridError as error:
            return error
        return None

    async def hold(self, account: Account, seconds: float) -> RagGridError | None:
        """As that of the gate; what that would raise is returned."""
        try:
            self._gate.hold(account, seconds)
        except RagGridError as error:
            return error
        return None

    async def say(self, line: Line) -> None:
        """Takes what a worker logged. What several of them say is said once."""
        if line not in self._said:
            self._said.add(line)
            self._lines.append(line)
            self._has_news.set()

    async def news(self) -> list[Line]:
        """What was said since the last call, as soon as that is anything; nothing once the desk is closed."""
        await self._has_news.wait()
        self._has_news.clear()
        lines, self._lines = self._lines, []
        return lines

    async def close(self) -> None:
        """Ends the wait for news."""
        self._has_news.set()


def result_of(reference: Any) -> Any:  # what Ray calls return has no types
    """What a call of an actor returned, once it did so; if that is an error of ours, it is raised."""
    import ray

    result = ray.get(reference)
    if isinstance(result, RagGridError):
        raise result
    return result


@dataclass
class DeskGate:
    """The gate of a worker: passes on to the desk, which takes less than a millisecond."""

    desk: DeskActor

    def __post_init__(self) -> None:
        self._healths: defaultdict[str, Health] = defaultdict(Health)

    def admit(self, attempt: Attempt) -> float:
        wait_s: float = result_of(self.desk.admit.remote(attempt))
        return wait_s

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        result_of(self.desk.settle.remote(attempt, used))

    def withdraw(self, attempt: Attempt) -> None:
        result_of(self.desk.withdraw.remote(attempt))

    def hold(self, account: Account, seconds: float) -> None:
        result_of(self.desk.hold.remote(account, seconds))

    def health(self, endpoint: str) -> Health:
        return self._healths[endpoint]


class ToDesk(logging.Handler):
    """Passes on what is logged in a worker, but for what Ray logs itself."""

    def __init__(self, desk: DeskActor) -> None:
        super().__init__(logging.WARNING)
        self._desk = desk

    def emit(self, record: logging.LogRecord) -> None:
        """Returns when the desk has the line: before its stage is told to have ended."""
        import ray

        if not record.name.startswith("ray"):
            ray.get(self._desk.say.remote((record.levelno, record.name, record.getMessage())))


def log_again(lines: Sequence[Line]) -> None:
    """Logs in this process what workers logged in theirs."""
    for level, name, message in lines:
        logging.getLogger(name).log(level, "%s", message)
