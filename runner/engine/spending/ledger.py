"""What a sweep has spent and what is under way, in a file that all of its processes share."""

import time
from dataclasses import dataclass, fields
from pathlib import Path

from components.errors import BudgetReached
from components.openai_server.gate import Tokens
from components.prices import Price
from runner.engine.spending.budget import Budget
from runner.engine.spending.shared_numbers import SharedNumbers

_WAIT_S = 0.05
_GRACE_S = 10.0


@dataclass
class Spent:
    """Since the sweep began. `n_requests` were sent, attempts that failed among them, but not those for which no
    connection could be made; `cost` is that of those whose
    model is in a price list, `n_unpriced` are the others that were answered. `n_unanswered` ended without a word, by
    timeouts or lost connections: nobody knows what the provider charges for them.
    """

    n_requests: float = 0
    n_prompt_tokens: float = 0
    n_cached_tokens: float = 0
    n_completion_tokens: float = 0
    cost: float = 0.0
    n_unpriced: float = 0
    n_unanswered: float = 0

    @property
    def n_tokens(self) -> int:
        """Of prompts and completions."""
        return int(self.n_prompt_tokens + self.n_completion_tokens)


@dataclass
class _Pages(Spent):
    """With what attempts under way and unanswered ones may have taken, and the time of the last entry."""

    tokens_under_way: float = 0
    cost_under_way: float = 0.0
    requests_under_way: float = 0
    tokens_unanswered: float = 0
    cost_unanswered: float = 0.0
    changed_at: float = 0.0


class Ledger:
    """What was spent, and whether a further attempt fits into the budget.

    What an attempt may take at most is set aside until it ends, so that no budget is overdrawn, as far as lengths of
    texts tell. What a process that was killed had set aside counts against the budget, as it may have been charged. So
    does what an attempt without an answer had set aside.
    """

    def __init__(self, path: Path, budget: Budget) -> None:
        self._path = path
        self._numbers = SharedNumbers(path, len(fields(_Pages)), must_persist=True)
        self._budget = budget
        self._has_begun = False

    def begin(self) -> None:
        """Create the file, so that its removal is seen by `spent` too. Raises StoreError."""
        with self._numbers.changed():
            self._has_begun = True

    @property
    def spent(self) -> Spent:
        """So far, by all processes. Raises StoreError if the file was removed after `begin`."""
        if not self._has_begun and not self._path.exists():
            return Spent()
        with self._numbers.changed() as numbers:
            return Spent(*numbers[: len(fields(Spent))])

    def admit(self, most: Tokens, price: Price | None, timeout_s: float) -> float:
        """0.0 if an attempt fits, which is set aside; else seconds to wait for others to end. Raises BudgetReached if
        it does not fit, whatever becomes of those under way.
        """
        cost = _cost(most, price)
        with self._numbers.changed() as numbers:
            pages = _Pages(*numbers)
            now = time.time()
            # An attempt under way may still turn out to be never sent: its request is given back then.
            n_tokens, cost_in_all = most.n_all + pages.tokens_unanswered, cost + pages.cost_unanswered
            if reached := self._reached(pages, 1 - pages.requests_under_way, n_tokens, cost_in_all):
                raise BudgetReached(reached)
            is_waiting = bool(
                self._reached(pages, 1, n_tokens + pages.tokens_under_way, cost_in_all + pages.cost_under_way)
            )
            pages.changed_at = min(pages.changed_at, now)  # the clock may have been set back
            if is_waiting and now - pages.changed_at < timeout_s + _GRACE_S:
                numbers[:] = vars(pages).values()
                return _WAIT_S
            if is_waiting:
                raise BudgetReached(f"{self._limits()}, of which a process that died had set aside the rest")
            pages.n_requests += 1
            pages.requests_under_way += 1
            pages.tokens_under_way += most.n_all
            pages.cost_under_way += cost
            pages.changed_at = now
            numbers[:] = vars(pages).values()
        return 0.0

    def settle(self, most: Tokens, used: Tokens | None, price: Price | None) -> None:
        """An admitted attempt ended, and took what was `used`; None if it ended without a word."""
        with self._numbers.changed() as numbers:
            pages = _Pages(*numbers)
            _end(pages, most, price)
            if used is None:
                pages.n_unanswered += 1
                pages.tokens_unanswered += most.n_all
                pages.cost_unanswered += _cost(most, price)
            else:
                pages.n_prompt_tokens += used.n_prompt
                pages.n_cached_tokens += used.n_cached
                pages.n_completion_tokens += used.n_completion
                pages.cost += price.of(used.n_prompt, used.n_completion, used.n_cached) if price else 0.0
                pages.n_unpriced += price is None and used != Tokens()
            numbers[:] = vars(pages).values()

    def withdraw(self, most: Tokens, price: Price | None) -> None:
        """An admitted attempt was never sent."""
        with self._numbers.changed() as numbers:
            pages = _Pages(*numbers)
            _end(pages, most, price)
            pages.n_requests -= 1
            numbers[:] = vars(pages).values()

    def _reached(self, spent: Spent, n_requests: float, n_tokens: float, cost: float) -> str:
        """The budget that so much more would overdraw; "" if it fits."""
        budget = self._budget
        if budget.max_requests is not None and spent.n_requests + n_requests > budget.max_requests:
            return f"run.max_requests={budget.max_requests}"
        if budget.max_tokens is not None and spent.n_tokens + n_tokens > budget.max_tokens:
            return f"run.max_tokens={budget.max_tokens}"
        if budget.max_cost is not None and spent.cost + cost > budget.max_cost:
            return f"run.max_cost={budget.max_cost:g}"
        return ""

    def _limits(self) -> str:
        names = [field.name for field in fields(self._budget) if getattr(self._budget, field.name) is not None]
        return ", ".join(f"run.{name}={getattr(self._budget, name):g}" for name in names)


def _end(pages: _Pages, most: Tokens, price: Price | None) -> None:
    """An attempt is under way no more."""
    pages.requests_under_way -= 1
    pages.tokens_under_way -= most.n_all
    pages.cost_under_way -= _cost(most, price)
    pages.changed_at = time.time()


def _cost(most: Tokens, price: Price | None) -> float:
    return price.of(most.n_prompt, most.n_completion) if price else 0.0
