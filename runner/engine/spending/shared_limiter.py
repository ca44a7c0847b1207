"""The limiter of a sweep: rate limits hold for all processes that share the store, budgets for the sweep."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from components.errors import StoreError
from components.openai_server.breaker import Health
from components.openai_server.limiter import Account, Attempt, Tokens
from components.openai_server.pace import Pace
from components.prices import NO_PRICES, Prices
from runner.engine.spending.ledger import NO_BUDGET, Budget, Ledger, Spending
from runner.engine.spending.shared_numbers import SharedNumbers


class SharedLimiter:
    """Limiter that every request to a model passes. See `components.openai_server.limiter.Limiter`. Can be pickled."""

    def __init__(
        self, limits: Path, ledger: Path | None = None, budget: Budget = NO_BUDGET, prices: Prices = NO_PRICES
    ) -> None:
        """`limits` is the folder with the state of each account's rate limits. `ledger` is the file with the spending
        of the sweep; None records nothing.
        """
        self._arguments = (limits, ledger, budget, prices)
        self._limits, self.prices = limits, prices
        self._ledger = Ledger(ledger, budget) if ledger else None
        self._paces: dict[str, SharedNumbers] = {}
        self._healths: defaultdict[str, Health] = defaultdict(Health)
        self._not_counted: StoreError | None = None

    def __reduce__(self) -> tuple[Callable[..., "SharedLimiter"], tuple[object, ...]]:
        """Pickle the constructor arguments, without open files."""
        return SharedLimiter, self._arguments

    def begin(self) -> None:
        """Create the file that counts the sweep's spending. Called by the process that reads it at the end.

        Raises StoreError if the file cannot be written.
        """
        if self._ledger:
            self._ledger.begin()

    def admit(self, attempt: Attempt) -> float:
        if self._not_counted:
            raise self._not_counted
        account = attempt.account
        with self._pace(account).change() as numbers:
            pace = Pace(*numbers)
            wait_s = pace.wait_s(now := time.time(), *account.limits)
            if wait_s == 0 and self._ledger:
                wait_s = self._ledger.admit(
                    attempt.max_tokens, self.prices.find(account.model, account.price_name), attempt.timeout_s
                )
            if wait_s == 0:
                pace.take_turn(now, *account.limits, attempt.max_tokens.n_all)
            numbers[:] = vars(pace).values()
        return wait_s

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        account = attempt.account
        with self._defer_store_error():
            self._give_back(account, attempt.n_unused(used))
            if self._ledger:
                self._ledger.settle(attempt.max_tokens, used, self.prices.find(account.model, account.price_name))

    def withdraw(self, attempt: Attempt) -> None:
        account = attempt.account
        self._give_back(account, attempt.max_tokens.n_all)
        if self._ledger:
            self._ledger.withdraw(attempt.max_tokens, self.prices.find(account.model, account.price_name))

    @contextmanager
    def _defer_store_error(self) -> Iterator[None]:
        """Let the next `admit` raise a StoreError. Raised here, it would replace a reply that was paid for."""
        try:
            yield
        except StoreError as error:
            self._not_counted = error

    def _give_back(self, account: Account, n_tokens: int) -> None:
        if account.max_tokens_per_minute:
            with self._pace(account).change() as numbers:
                pace = Pace(*numbers)
                pace.give_back(account.max_tokens_per_minute, n_tokens)
                numbers[:] = vars(pace).values()

    @property
    def spent(self) -> Spending:
        """Spending of all processes of the sweep. Raises StoreError if the count was removed after `begin`."""
        return self._ledger.spent if self._ledger else Spending()

    def hold(self, account: Account, seconds: float) -> None:
        with self._defer_store_error(), self._pace(account).change() as numbers:
            pace = Pace(*numbers)
            pace.hold(time.time(), seconds)
            numbers[:] = vars(pace).values()

    def health(self, endpoint: str) -> Health:
        return self._healths[endpoint]

    def _pace(self, account: Account) -> SharedNumbers:
        if account.name not in self._paces:
            path = self._limits / sha256(account.name.encode()).hexdigest()[:32]
            self._paces[account.name] = SharedNumbers(path, len(vars(Pace())))
        return self._paces[account.name]
