"""Computes what cells cost and what a sweep spent, and describes both."""

from collections.abc import Iterable, Mapping, Sequence

from components.json_value import Json
from components.limits import closest_name
from components.openai_server.limiter import Tokens
from components.prices import Price, PriceList, Prices
from components.protocols import LLM, AnswersFrom, AskedVariant, AskingRefinement, GraphArm
from runner.console.display import estimate
from runner.console.styled_text import count, join_names
from runner.engine.plan import Plan
from runner.engine.request_counts import RequestCount
from runner.engine.spending import Budget, Spending
from runner.engine.spending.admission import model_account
from runner.engine.stage import AnyStage
from runner.pipeline.cell import Cell
from runner.pipeline.corpus.chunk_facts import GRAPH
from runner.pipeline.corpus.refined_corpora import REFINER
from runner.pipeline.search.expanding import EXPANDER
from runner.results import CellResult


def model_price(model: object, prices: Prices) -> Price | None:
    """Return the price of a model, behind a server or in this process; None if no price list names it."""
    account = model_account(model)
    return prices.find(account.model, account.price_name)


def usage_fields(usage: Mapping[str, Mapping[str, int | None]], cell: Cell) -> dict[str, Json]:
    """Return the fields `usage`, `cost` and `currency` of a `CellResult`: the counts with the cost of each part.

    A cost is None if the tokens or the price are unknown.
    """
    parts: dict[str, dict[str, Json]] = {}
    for part, counts in usage.items():
        parts[part] = {**counts, "cost": _compute_cost(counts, model_price(_find_model(part, cell), cell.prices))}
    costs = [each["cost"] for each in parts.values()]
    total = None if None in costs else float(sum(costs))
    return {"usage": parts, "cost": total, "currency": cell.prices.currency}


def _find_model(part: str, cell: Cell) -> object:
    """Return the language model behind a part of the usage, such as "judge/accuracy"; None if there are several."""
    if part == "answers":
        return cell.answerer
    role, _, name = part.partition("/")
    if role == "judge":
        judge = cell.judge.scores.get(name)
        return judge.llm if judge else getattr(cell.reviser, "llm", None)  # the check of a reviser is a metric, too
    if role in (EXPANDER, REFINER, GRAPH):
        first, *others = _step_models(role, cell)
        return first if all(other == first for other in others) else None
    component = getattr(cell, role)
    for nested in filter(None, name.split("/")):  # each part names a candidate of a selection or a step of a cascade
        component = getattr(component, "candidates", None) or component.steps
        component = component[nested]
    return component.llm


def _step_models(role: str, cell: Cell) -> list[LLM]:
    """Return the language models of the steps of an expander or a refiner, or of the graphs of a retriever."""
    if role == GRAPH:
        return [arm.extractor.llm for arm in cell.retriever.arms if isinstance(arm, GraphArm)]
    steps = cell.expander.variants if role == EXPANDER else cell.refiner.steps
    return [step.llm for step in steps if isinstance(step, AskedVariant | AskingRefinement)]


def _compute_cost(counts: Mapping[str, int | None], price: Price | None) -> float | None:
    n_prompt, n_completion = counts["n_prompt_tokens"], counts["n_completion_tokens"]
    if price is None or n_prompt is None or n_completion is None:
        return None
    return price.cost(n_prompt, n_completion, counts["n_cached_tokens"] or 0)


def money_lines(cells: Sequence[CellResult], spent: Spending, prices: Prices) -> list[str]:
    """Return lines about what the sweep spent, and what its cells cost with an empty store.

    Returns no lines if no language model ever got a request.
    """
    costs = [cell.cost for cell in cells if cell.usage]
    lines = [f"spent:    {spent_text(spent, prices)}"] if spent.n_requests else []
    if costs and not lines:
        lines = ["spent:    nothing, no request was sent"]
    known = sorted(cost for cost in costs if cost is not None)
    if known and len(known) == len(costs) and known[-1]:  # free models need no line
        ends = dict.fromkeys(format_money(cost, prices.currency) for cost in (known[0], known[-1]))
        lines.append(f"a cell costs {' to '.join(ends)} when nothing is cached")
    return lines


def bound_lines(plan: Plan, budget: Budget, prices: Prices) -> list[str]:
    """Return lines about the maximum tokens and cost of a plan's requests, and about budgets below them."""
    counts = [count for count in plan.requests if count.n_requests and count.n_tokens != 0]  # searches have no tokens
    if not counts:
        return []
    bounded = [count for count in counts if count.tokens is not None]
    by_model = [each for count in bounded for each in count.tokens or ()]
    repeated = [each for count in bounded for each in count.tokens_with_repeats or ()]
    n_tokens, cost = _n_tokens_and_cost(repeated, prices)
    charged = [llm for llm, _ in by_model if not _costs_nothing(llm)]
    unpriced = sorted({getattr(llm, "model", type(llm).__name__) for llm in charged if not model_price(llm, prices)})
    shows_cost = bool(cost or (charged and not unpriced))
    text = f"at most about {_tokens_text(by_model, prices, shows_cost=shows_cost)}"
    if repeated != by_model:
        text += f" ({_tokens_text(repeated, prices, shows_cost=shows_cost)} with retries of unreadable replies)"
    if shows_cost and (dates := sorted({listed.as_of for llm in charged if (listed := _price_list(llm, prices))})):
        text += f" (prices of {join_names(dates)})"
    if unpriced:
        names = ", ".join(f"{name}{_similar_model(name, prices)}" for name in unpriced)
        text += f"; the cost of {names} is unknown: no price list names it"
    if len(bounded) < len(counts):
        unknown = ", ".join(count.title for count in counts if count.tokens is None)
        text += f"; without {unknown}, whose tokens are unknown before they run"
    more = {
        "max_requests": (plan.n_requests_with_repeats, budget.max_requests),
        "max_tokens": (n_tokens, budget.max_tokens),
        "max_cost": (cost, budget.max_cost),
    }
    over = [f"run.{name}={limit:g}" for name, (amount, limit) in more.items() if limit is not None and amount > limit]
    stops = (
        f"That may be more than {', '.join(over)}. The sweep then stops early. Run the same command again to resume."
    )
    return [*([text] if bounded else []), *([stops] if over else [])]


def _tokens_text(tokens: Sequence[tuple[object, Tokens]], prices: Prices, *, shows_cost: bool) -> str:
    n_tokens, cost = _n_tokens_and_cost(tokens, prices)
    return f"{estimate(n_tokens)} tokens" + (f", {format_money(cost, prices.currency)}" if shows_cost else "")


def _price_list(model: object, prices: Prices) -> PriceList | None:
    account = model_account(model)
    return prices.find_list(account.model, account.price_name)


def _similar_model(name: str, prices: Prices) -> str:
    """Return e.g. " (did you mean gpt-4o-mini?)"; "" if no price list has a similar name."""
    close = closest_name(name, [model for each in prices.lists.values() for model in each.models], cutoff=0.8)
    return f" (did you mean {close}?)" if close else ""


def _costs_nothing(llm: object) -> bool:
    """Return True for models on the user's machines, and for stand-ins, which send no requests."""
    return bool(getattr(llm, "is_free", False) or getattr(llm, "is_stand_in", False))


def _n_tokens_and_cost(by_model: Sequence[tuple[object, Tokens]], prices: Prices) -> tuple[int, float]:
    """Sum the tokens and their cost. Models without a price add no cost."""
    priced_tokens = [(model_price(llm, prices), tokens) for llm, tokens in by_model]
    cost = sum(price.cost(tokens.n_prompt, tokens.n_completion) for price, tokens in priced_tokens if price)
    return sum(tokens.n_all for _, tokens in by_model), cost


def unpriced_errors(plan: Plan, budget: Budget, prices: Prices) -> list[str]:
    """Return one message per model without a price, if the budget limits the cost."""
    if budget.max_cost is None:
        return []
    return [
        f"run.max_cost: the price of {name} is not known. Add it to your own price list (docs/budgets.md), or use "
        "run.max_tokens"
        for name in unpriced_models(plan.order, prices)
    ]


def unpriced_models(stages: Iterable[AnyStage], prices: Prices) -> list[str]:
    """Return the names of the models that get requests and that no price list names."""
    parts = [part for stage in stages for part in stage.components()]
    models = [
        part
        for part in parts
        if hasattr(part, "account") or (isinstance(part, LLM) and part.answers_from is AnswersFrom.MESSAGES)
    ]
    return list(dict.fromkeys(_model_name(part) for part in models if model_price(part, prices) is None))


def highest_cost(counts: Sequence[RequestCount], prices: Prices) -> tuple[float, int, int]:
    """Return the maximum cost, tokens and requests of these counts, to find the most expensive cell."""
    tokens = [each for count in counts for each in count.tokens or ()]
    n_tokens, cost = _n_tokens_and_cost(tokens, prices)
    return cost, n_tokens, sum(count.n_requests for count in counts)


def _model_name(model: object) -> str:
    account = getattr(model, "account", None)
    return f"{account.model} at {account.host}" if account else str(getattr(model, "model", type(model).__name__))


def stopped_line(budget: str, spent: Spending, prices: Prices, n_done: str) -> str:
    """Return the message of a sweep that reached a budget: which one, what was spent, what is cached, how to resume."""
    return (
        f"Stopped before exceeding {budget}: {spent_text(spent, prices)}. {n_done} are done. Run the same command "
        "again: finished work is cached, and the budget counts from zero."
    )


def spent_text(spent: Spending, prices: Prices) -> str:
    """Format requests, tokens and cost, with a note about what is not known."""
    unknown = []
    if spent.n_unpriced:
        unknown.append(f"no price list names the model of {count(round(spent.n_unpriced), 'request')}")
    if spent.n_unanswered:
        unknown.append(f"{spent.n_unanswered:,.0f} ended without a readable reply, and may have been charged")
    counts = [count(round(spent.n_requests), "request"), count(spent.n_tokens, "token")]
    if spent.cost:
        counts.append(format_money(spent.cost, prices.currency))
    elif spent.n_unpriced:
        counts.append("cost not known")
    notes = f" ({'; '.join(unknown)})" if unknown else ""
    return ", ".join(counts) + notes


def format_money(amount: float, currency: str) -> str:
    """Format an amount with two decimals, or with four below 1: "2.50 USD", "0.0960 USD"."""
    return f"{amount:,.2f} {currency}" if amount >= 1 or amount == 0 else f"{amount:.4f} {currency}"
