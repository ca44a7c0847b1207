"""What a run shows in the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.testset.topics.tree import labels_of
from runner.output.money import money
from runner.testset.bound import Asked
from runner.testset.coverage import Count
from runner.testset.making import Made
from runner.testset.scheduling import Cell
from runner.testset.settings import Generation

_MOST_REASONS = 12


def show_bound(console: Console, made: Made, parts: Sequence[Asked], settings: Generation) -> None:
    """The corpus, the matrix, and what may be asked for."""
    n_cells = len(made.wanted.cells)
    of_topics = f"{len(made.topics)} topics x " if made.topics else ""
    console.print(
        f"corpus:   {len(made.documents):,} documents; wanted: {n_cells * made.wanted.per_cell:,} samples "
        f"({of_topics}{len(made.wanted.tasks)} tasks x {made.wanted.per_cell})",
        markup=False,
    )
    if settings.run.plan_only:
        table = Table("asked for", "requests", "at most", "tokens at most", "cost at most", title="upper bound")
        for part in parts:
            cost = "not known" if part.cost is None else money(part.cost, settings.prices.currency)
            table.add_row(escape(part.part), f"{part.n_requests:,}", f"{part.n_most:,}", f"{part.most.n_all:,}", cost)
        console.print(table)
    n_requests, n_most = sum(part.n_requests for part in parts), sum(part.n_most for part in parts)
    costs = [part.cost for part in parts if part.n_requests]
    known = [cost for cost in costs if cost is not None]
    text = f"requests: at most {n_requests:,} ({n_most:,} if replies have to be asked for again)"
    text += f", {sum(part.most.n_all for part in parts):,} tokens"
    if known and any(known):
        text += f", {money(sum(known), settings.prices.currency)}"
    if len(known) < len(costs):
        text += "; no price list names some of the models"
    console.print(text, markup=False, soft_wrap=True)


def show_coverage(console: Console, made: Made, counts: Mapping[Cell, Count]) -> None:
    """The matrix of accepted samples, and the reasons of what was rejected."""
    labels = labels_of(made.topics)
    table = Table("topic", *map(escape, made.wanted.tasks), title="accepted / wanted (tried)")
    for topic in made.wanted.topics:
        row = [counts[topic, task] for task in made.wanted.tasks]
        table.add_row(escape(labels.get(topic, topic) or "all documents"), *map(_shown, row))
    console.print(table)
    reasons: Counter[str] = Counter()
    for count in counts.values():
        reasons.update(count.reasons)
    if reasons:
        listed = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(_MOST_REASONS))
        more = f" and {len(reasons) - _MOST_REASONS} more reasons" if len(reasons) > _MOST_REASONS else ""
        console.print(f"rejected: {listed}{more}", markup=False)
    if n_pending := sum(count.pending for count in counts.values()):
        console.print(f"pending:  {n_pending}, whose requests failed", markup=False)


def _shown(count: Count) -> str:
    text = f"{count.accepted}/{count.wanted} ({count.tried})"
    return f"[yellow]{text}[/]" if count.accepted < count.wanted else text
