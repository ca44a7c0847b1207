"""The spent and reserved budget of a sweep, and the point at which it stops."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

from components.errors import BudgetReached, StoreError
from components.openai_server.limiter import Tokens
from components.prices import Price
from runner.engine.spending.ledger import Budget, Ledger, Spending, read_spent

PRICE = Price(prompt=2.0, completion=10.0, cached=1.0)
MAX_TOKENS = Tokens(100, 50)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spent"


def admitted(
    ledger: Ledger, max_tokens: Tokens = MAX_TOKENS, price: Price | None = PRICE, timeout_s: float = 60.0
) -> bool:
    return ledger.admit(max_tokens, price, timeout_s) == 0


def test_new_ledger_has_no_spending(path: Path) -> None:
    assert Ledger(path, Budget()).spent == Spending()


def test_counted_tokens_are_added_to_the_spending(path: Path) -> None:
    ledger = Ledger(path, Budget())
    for used in (Tokens(10, 5, 4), Tokens(7, 3)):
        assert admitted(ledger)
        ledger.settle(MAX_TOKENS, used, PRICE)
    cost = (2 * 6 + 1 * 4 + 10 * 5 + 2 * 7 + 10 * 3) / 1e6
    assert vars(Ledger(path, Budget()).spent) == vars(Spending(2, 17, 4, 8, pytest.approx(cost)))
    assert ledger.spent.n_tokens == 25


def test_another_process_reads_the_spending_without_a_lock(path: Path) -> None:
    assert read_spent(path) == Spending()
    ledger = Ledger(path, Budget())
    assert admitted(ledger)
    ledger.settle(MAX_TOKENS, Tokens(10, 5), PRICE)
    assert read_spent(path) == ledger.spent
    assert read_spent(path).facts("USD")["n_requests"] == 1
    ledger.settle(MAX_TOKENS, Tokens(10, 5), None)
    assert read_spent(path).facts("USD")["cost"] is None


def test_unpriced_and_unanswered_requests_are_counted_separately(path: Path) -> None:
    ledger = Ledger(path, Budget())
    for used in (Tokens(10, 5), Tokens(), None):
        ledger.admit(MAX_TOKENS, None, 60.0)
        ledger.settle(MAX_TOKENS, used, None)
    spent = ledger.spent
    assert (spent.n_requests, spent.n_tokens, spent.cost, spent.n_unpriced, spent.n_unanswered) == (3, 15, 0.0, 1, 1)


@pytest.mark.parametrize("next_call", ["settle", "withdraw", "admit"])
def test_ledger_removed_during_a_sweep_is_an_error(path: Path, next_call: str) -> None:
    ledger = Ledger(path, Budget(max_requests=2))
    assert admitted(ledger)
    path.unlink()
    calls: dict[str, Callable[[], object]] = {
        "settle": lambda: ledger.settle(MAX_TOKENS, MAX_TOKENS, PRICE),
        "withdraw": lambda: ledger.withdraw(MAX_TOKENS, PRICE),
        "admit": lambda: admitted(ledger),
    }
    with pytest.raises(StoreError, match="spent: cannot write the spending of the sweep: No such file"):
        calls[next_call]()
    assert not path.exists()


def test_spending_of_a_removed_ledger_is_unknown(path: Path) -> None:
    ledger = Ledger(path, Budget())
    assert ledger.spent == Spending()
    ledger.begin()
    assert ledger.spent == Spending()
    path.unlink()
    with pytest.raises(StoreError, match="spent: cannot write the spending of the sweep: No such file"):
        _ = ledger.spent


@pytest.mark.parametrize(
    ("budget", "reached"),
    [
        (Budget(max_requests=2), "run.max_requests=2"),
        (Budget(max_tokens=40), "run.max_tokens=40"),
        (Budget(max_cost=0.0003), "run.max_cost=0.0003"),
    ],
)
def test_budget_is_never_overdrawn(path: Path, budget: Budget, reached: str) -> None:
    ledger, most = Ledger(path, budget), Tokens(10, 10)
    for _ in range(2):
        assert admitted(ledger, most)
        ledger.settle(most, most, PRICE)
    with pytest.raises(BudgetReached, match=reached):
        ledger.admit(most, PRICE, 60.0)
    assert ledger.spent.n_requests == 2


@pytest.mark.parametrize("budget", [Budget(max_tokens=400), Budget(max_cost=0.0018)])
def test_attempts_without_an_answer_count_in_full(path: Path, budget: Budget) -> None:
    """The server may have charged each request in full."""
    ledger = Ledger(path, budget)
    for _ in range(2):
        assert admitted(ledger)
        ledger.settle(MAX_TOKENS, None, PRICE)
    with pytest.raises(BudgetReached):
        ledger.admit(MAX_TOKENS, PRICE, 60.0)
    spent = ledger.spent
    assert (spent.n_requests, spent.n_tokens, spent.cost, spent.n_unanswered) == (2, 0, 0.0, 2), "nobody knows"


def test_running_requests_reserve_their_maximum_until_they_end(path: Path) -> None:
    ledger = Ledger(path, Budget(max_tokens=200))
    assert admitted(ledger)
    assert not admitted(ledger), "it would fit alone, but not beside the other"
    ledger.settle(MAX_TOKENS, Tokens(10, 5), PRICE)
    assert admitted(ledger)


def test_request_larger_than_the_budget_fails_immediately(path: Path) -> None:
    ledger = Ledger(path, Budget(max_tokens=100))
    with pytest.raises(BudgetReached):
        ledger.admit(MAX_TOKENS, PRICE, 60.0)


def test_reservation_of_a_killed_process_expires_after_one_attempt(path: Path) -> None:
    killed = Ledger(path, Budget(max_tokens=200))
    assert admitted(killed)
    with killed._numbers.change() as numbers:
        numbers[-1] -= 75.0  # when that was
    ledger = Ledger(path, Budget(max_tokens=200))
    assert not admitted(ledger, timeout_s=70.0)
    with pytest.raises(BudgetReached, match="a process that died had reserved the rest"):
        ledger.admit(MAX_TOKENS, PRICE, timeout_s=60.0)


def spend(path: Path, n: int) -> None:
    ledger = Ledger(path, Budget())
    for _ in range(n):
        ledger.admit(MAX_TOKENS, PRICE, 60.0)
        ledger.settle(MAX_TOKENS, Tokens(1, 1), PRICE)


def test_several_processes_share_one_ledger(path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(spend, [(path, 500), (path, 500)])
    assert (Ledger(path, Budget()).spent.n_requests, Ledger(path, Budget()).spent.n_tokens) == (1000, 2000)


def test_withdrawn_requests_release_their_reservation(path: Path) -> None:
    ledger = Ledger(path, Budget(max_requests=2, max_tokens=300))
    for _ in range(5):
        assert admitted(ledger)
        ledger.withdraw(MAX_TOKENS, PRICE)
    assert ledger.spent == Spending()
    for _ in range(2):
        assert admitted(ledger)
        ledger.settle(MAX_TOKENS, Tokens(10, 5), PRICE)
    with pytest.raises(BudgetReached, match="max_requests=2"):
        ledger.admit(MAX_TOKENS, PRICE, 60.0)


def test_unsent_last_request_delays_the_next_without_ending_the_budget(path: Path) -> None:
    ledger = Ledger(path, Budget(max_requests=1))
    assert admitted(ledger)
    assert not admitted(ledger), "the budget is not reached before the first one was sent"
    ledger.withdraw(MAX_TOKENS, PRICE)
    assert admitted(ledger)
    ledger.settle(MAX_TOKENS, None, PRICE)
    with pytest.raises(BudgetReached):
        ledger.admit(MAX_TOKENS, PRICE, 60.0)
    assert ledger.spent.n_requests == 1


def test_ledger_wait_ignores_a_clock_set_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr("runner.engine.spending.ledger.time.time", lambda: now[0])
    ledger = Ledger(path, Budget(max_tokens=200))
    assert admitted(ledger)
    now[0] -= 100_000
    assert not admitted(ledger)
    now[0] += 71
    with pytest.raises(BudgetReached, match="a process that died had reserved the rest"):
        admitted(ledger)
