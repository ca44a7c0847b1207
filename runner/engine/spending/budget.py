"""Budgets of a sweep."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """The most that all processes of a sweep may request and pay. None means no limit.

    Tokens are those of prompts and completions together. The cost is in the currency of the price lists.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None


NO_BUDGET = Budget()
