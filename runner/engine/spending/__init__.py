"""Spending of a sweep on models: counted over all its processes, limited by its budgets, at the pace of the servers."""

from runner.engine.spending.ledger import Budget, Spending
from runner.engine.spending.shared_limiter import SharedLimiter

__all__ = ["Budget", "SharedLimiter", "Spending"]
