"""The budget of a sweep, and its spending and running attempts in a file that all its processes share."""

import time
from dataclasses import dataclass, fields
from pathlib import Path

from components.errors import BudgetReached
from components.json_value import Json
from components.openai_server.limiter import Tokens
from components.prices import Price
from runner.engine.spending.shared_numbers import SharedNumbers

_WAIT_S = 0.05
_GRACE_S = 10.0


@dataclass(frozen=True)
class Budget:
    """Limits on the requests, tokens and cost of all processes of a sweep. None means no limit.

    Tokens of prompts and completions count together. The cost is in the currency of the price lists.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None


NO_BUDGET = Budget()


@dataclass
class Spending:
    """Spending since the sweep began.

    `n_requests` counts sent requests, failed attempts included, but not attempts that could not connect. `cost` covers
    models in a price list, and `n_unpriced` counts answers of other models. `n_unanswered` counts timeouts and lost
    connections, for which the charge is unknown.
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
        """Tokens of prompts and completions together."""
        return int(self.n_prompt_tokens + self.n_completion_tokens)

    def facts(self, currency: str) -> dict[str, Json]:
        """Return the spending as JSON for `sweep.json`. The cost is None if some model has no price."""
        counts = {name: int(value) for name, value in vars(self).items() if name != "cost"}
        return {**counts, "cost": None if self.n_unpriced else self.cost, "currency": currency}


@dataclass
class _Totals(Spending):
    """Spending, together with the amounts reserved for running and unanswered attempts, and the time of the last
    change.
    """

    tokens_under_way: float = 0
    cost_under_way: float = 0.0
    requests_under_way: float = 0
    tokens_unanswered: float = 0
    cost_unanswered: float = 0.0
    changed_at: float = 0.0


def read_spent(path: Path) -> Spending:
    """Return the spending that a ledger's file holds now, without waiting for its writers. Nothing without the file."""
    return Spending(*SharedNumbers(path, len(fields(_Totals))).read()[: len(fields(Spending))])


class Ledger:
    """Spending so far, and the decision whether another attempt fits the budget.

    An attempt reserves its maximum until it ends, estimated from text lengths, so that no budget is
    overdrawn. Amounts reserved by a killed process or by an unanswered attempt count against the budget, because they
    may have been charged.
    """

    def __init__(self, path: Path, budget: Budget) -> None:
        self._path = path
        self._numbers = SharedNumbers(path, len(fields(_Totals)), must_persist=True)
        self._budget = budget
        self._has_begun = False

    def begin(self) -> None:
        """Create the file, so that `spent` notices if it is removed. Raises StoreError if it cannot be written."""
        with self._numbers.change():
            self._has_begun = True

    @property
    def spent(self) -> Spending:
        """Spending of all processes so far. Raises StoreError if the file was removed after `begin`."""
        if not self._has_begun and not self._path.exists():
            return Spending()
        with self._numbers.change() as numbers:
            return Spending(*numbers[: len(fields(Spending))])

    def admit(self, max_tokens: Tokens, price: Price | None, timeout_s: float) -> float:
        """Reserve an attempt and return 0.0 if it fits, otherwise return the seconds to wait for running attempts.

        Raises BudgetReached if the attempt would not fit even if the running attempts took nothing.
        """
        cost = _cost(max_tokens, price)
        with self._numbers.change() as numbers:
            totals = _Totals(*numbers)
            now = time.time()
            # A running attempt may turn out never to have been sent. Its request is then returned to the budget.
            n_tokens, cost_in_all = max_tokens.n_all + totals.tokens_unanswered, cost + totals.cost_unanswered
            if reached := self._exceeded_budget(totals, 1 - totals.requests_under_way, n_tokens, cost_in_all):
                raise BudgetReached(reached)
            is_waiting = bool(
                self._exceeded_budget(
                    totals, 1, n_tokens + totals.tokens_under_way, cost_in_all + totals.cost_under_way
                )
            )
            totals.changed_at = min(totals.changed_at, now)  # the clock may have been set back
            if is_waiting and now - totals.changed_at < timeout_s + _GRACE_S:
                numbers[:] = vars(totals).values()
                return _WAIT_S
            if is_waiting:
                raise BudgetReached(f"{self._limits()}: a process that died had reserved the rest")
            totals.n_requests += 1
            totals.requests_under_way += 1
            totals.tokens_under_way += max_tokens.n_all
            totals.cost_under_way += cost
            totals.changed_at = now
            numbers[:] = vars(totals).values()
        return 0.0

    def settle(self, max_tokens: Tokens, used: Tokens | None, price: Price | None) -> None:
        """Record the end of an admitted attempt. `used` are its tokens, None if it ended without an answer."""
        with self._numbers.change() as numbers:
            totals = _Totals(*numbers)
            _release(totals, max_tokens, price)
            if used is None:
                totals.n_unanswered += 1
                totals.tokens_unanswered += max_tokens.n_all
                totals.cost_unanswered += _cost(max_tokens, price)
            else:
                totals.n_prompt_tokens += used.n_prompt
                totals.n_cached_tokens += used.n_cached
                totals.n_completion_tokens += used.n_completion
                totals.cost += price.cost(used.n_prompt, used.n_completion, used.n_cached) if price else 0.0
                totals.n_unpriced += price is None and used != Tokens()
            numbers[:] = vars(totals).values()

    def withdraw(self, max_tokens: Tokens, price: Price | None) -> None:
        """Record that an admitted attempt was never sent."""
        with self._numbers.change() as numbers:
            totals = _Totals(*numbers)
            _release(totals, max_tokens, price)
            totals.n_requests -= 1
            numbers[:] = vars(totals).values()

    def _exceeded_budget(self, spent: Spending, n_requests: float, n_tokens: float, cost: float) -> str:
        """Return the setting of the budget that these additional amounts would exceed. "" if they fit."""
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


def _release(totals: _Totals, max_tokens: Tokens, price: Price | None) -> None:
    """Release the amounts that an attempt reserved."""
    totals.requests_under_way -= 1
    totals.tokens_under_way -= max_tokens.n_all
    totals.cost_under_way -= _cost(max_tokens, price)
    totals.changed_at = time.time()


def _cost(max_tokens: Tokens, price: Price | None) -> float:
    return price.cost(max_tokens.n_prompt, max_tokens.n_completion) if price else 0.0
