"""What was spent and what it would cost, in words."""

from components.prices import Prices
from runner.engine.spending import Spent


def stopped_line(budget: str, spent: Spent, prices: Prices, n_done: str) -> str:
    """For a sweep that reached a budget: which one, what was spent, what is kept and how to go on."""
    return (
        f"Stopped at {budget}: {spent_text(spent, prices)}. {n_done} are done; every reply that came and every "
        "finished stage is kept. The same command goes on from here, with as much again to spend"
    )


def spent_text(spent: Spent, prices: Prices) -> str:
    """Requests, tokens and money; what nobody knows is said."""
    text = f"{spent.n_requests:,.0f} requests, {spent.n_tokens:,} tokens, {_cost(spent, prices)}"
    if spent.n_unanswered:
        text += f" (what the {spent.n_unanswered:,.0f} that ended without a reply cost is not known)"
    return text


def money(amount: float, currency: str) -> str:
    """To the cent, smaller amounts to four digits."""
    return f"{amount:,.2f} {currency}" if amount >= 1 or amount == 0 else f"{amount:.4f} {currency}"


def _cost(spent: Spent, prices: Prices) -> str:
    if not spent.n_unpriced:
        return money(spent.cost, prices.currency)
    unknown = (
        "no price list names the model" if not spent.cost else "and for other models, which no price list names, more"
    )
    return f"{money(spent.cost, prices.currency)} {unknown}" if spent.cost else f"cost not known ({unknown})"
