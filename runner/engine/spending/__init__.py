"""What a sweep spends on models, in all of its processes: counted, kept within its budgets, at the servers' pace."""

from runner.engine.spending.budget import Budget
from runner.engine.spending.ledger import Spent
from runner.engine.spending.sweep_gate import SharedGate

__all__ = ["Budget", "SharedGate", "Spent"]
