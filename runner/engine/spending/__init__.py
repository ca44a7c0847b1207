"""What a sweep spends on models, in all of its processes: counted, kept within its budgets, at the servers' pace."""

from runner.engine.spending.budget import Budget
from runner.engine.spending.gate import SharedGate
from runner.engine.spending.ledger import Spent

__all__ = ["Budget", "SharedGate", "Spent"]
