"""The limiter of a sweep: rate limits hold for all processes that share the store, budgets for the sweep."""

import time
from collections import Counter, defaultdict
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

_FIRST_WAIT_S = 0.05


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
        self._limits_tokens = budget.max_tokens is not None or budget.max_cost is not None
        self._reserved: defaultdict[Attempt, list[Tokens]] = defaultdict(list)
        """Reserved tokens of the attempts under way. Equal attempts may be copies from other processes."""
        self._under_way: Counter[str] = Counter()
        self._excess: dict[str, Tokens] = {}
        """Tokens by account that an attempt used beyond its maximum. Later attempts reserve as many more."""

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
            reserved = attempt.max_tokens + self._excess.get(account.name, Tokens())
            if wait_s == 0 and self._must_wait_for_first(attempt):
                wait_s = _FIRST_WAIT_S
            if wait_s == 0 and self._ledger:
                price = self.prices.find(account.model, account.price_name)
                wait_s = self._ledger.admit(reserved, price, attempt.timeout_s)
            if wait_s == 0:
                self._reserved[attempt].append(reserved)
                self._under_way[account.name] += 1
                pace.take_turn(now, *account.limits, attempt.max_tokens.n_all)
            numbers[:] = vars(pace).values()
        return wait_s

    def settle(self, attempt: Attempt, used: Tokens | None) -> None:
        account = attempt.account
        reserved = self._end(attempt)
        if used and used.n_all:  # a refused prompt used none
            self._note_excess(attempt, used)
        with self._defer_store_error():
            self._give_back(account, attempt.n_unused(used))
            if self._ledger:
                self._ledger.settle(reserved, used, self.prices.find(account.model, account.price_name))

    def withdraw(self, attempt: Attempt) -> None:
        account = attempt.account
        reserved = self._end(attempt)
        self._give_back(account, attempt.max_tokens.n_all)
        if self._ledger:
            self._ledger.withdraw(reserved, self.prices.find(account.model, account.price_name))

    def _must_wait_for_first(self, attempt: Attempt) -> bool:
        """Return True until a first attempt has shown how many tokens the account uses, if its maximum is unknown and a
        budget limits tokens or money.
        """
        name, is_unknown = attempt.account.name, not attempt.max_tokens.n_completion
        return self._limits_tokens and is_unknown and name not in self._excess and self._under_way[name] > 0

    def _end(self, attempt: Attempt) -> Tokens:
        """Return the tokens that were reserved for an attempt, which has ended."""
        self._under_way[attempt.account.name] -= 1
        reserved = self._reserved[attempt].pop() if self._reserved[attempt] else attempt.max_tokens
        if not self._reserved[attempt]:
            del self._reserved[attempt]
        return reserved

    def _note_excess(self, attempt: Attempt, used: Tokens) -> None:
        before, most = self._excess.get(attempt.account.name, Tokens()), attempt.max_tokens
        self._excess[attempt.account.name] = Tokens(
            max(before.n_prompt, used.n_prompt - most.n_prompt),
            max(before.n_completion, used.n_completion - most.n_completion),
        )

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
