"""Tables and lines that a run prints in the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from components.protocols import LLM
from components.testset.topics.tree import label_topics
from components.testset.topics.voting import TopicVotes
from runner.console.styled_text import count
from runner.output.money import format_money
from runner.output.plan_report import data_losses
from runner.testset.making.coverage import FieldCounts
from runner.testset.making.draft_outcomes import DraftOutcome, pending_reason
from runner.testset.making.generation_loop import GenerationState
from runner.testset.making.generation_settings import GenerationSettings
from runner.testset.making.request_estimate import PartBounds, RequestEstimate, total
from runner.testset.making.scheduling import MatrixField

_MAX_REASONS = 12
_MIN_ALPHA = 0.667
"""Krippendorff draws no conclusions from a lower alpha."""


def show_bound(
    console: Console, state: GenerationState, parts: Sequence[PartBounds], settings: GenerationSettings
) -> None:
    """Print the corpus, the size of the matrix, and the bounds on requests."""
    for line in corpus_lines(state.counts):
        console.print(line, markup=False, soft_wrap=True)
    console.print(
        f"corpus:   {len(state.documents):,} documents; expected: {_matrix_size(state, settings)}", markup=False
    )
    console.print(f"models:   {_models(settings)}", markup=False, soft_wrap=True)
    if settings.run.plan_only:
        table = Table("step", "requests", "tokens", "max requests", "max tokens", title="requests")
        for part in parts:
            numbers = (
                part.if_none_rejected.n_requests,
                part.if_none_rejected.tokens.n_all,
                part.maximum.n_requests,
                part.maximum.tokens.n_all,
            )
            table.add_row(escape(part.name), *(f"{number:,}" for number in numbers))
        console.print(table)
    currency = settings.prices.currency
    console.print(
        _bound_line("if none rejected:", total([part.if_none_rejected for part in parts]), currency),
        markup=False,
        soft_wrap=True,
    )
    console.print(
        _bound_line("at most:         ", total([part.maximum for part in parts]), currency),
        markup=False,
        soft_wrap=True,
    )


def _matrix_size(state: GenerationState, settings: GenerationSettings) -> str:
    """Return the number of requested samples, "at most" if the topics have yet to be drafted."""
    n_tasks, per_cell = len(state.requested.tasks), state.requested.per_cell
    drafted = settings.topics.tree if not state.topics else None
    n_topics = len(state.topics) or int(getattr(drafted, "n_topics", 0))
    at_most = "at most " if drafted else ""
    topics_text = f"{at_most}{n_topics} topics x " if n_topics else ""
    return f"{at_most}{(n_topics or 1) * n_tasks * per_cell:,} samples ({topics_text}{n_tasks} tasks x {per_cell})"


def _models(settings: GenerationSettings) -> str:
    """Return which model writes and which one checks."""
    writer, checker = model_name(settings.llm), model_name(settings.checker)
    if settings.checker == settings.llm:
        return f"{writer} writes and also checks, so checks are lenient. Choose another checker with checker=..."
    return f"{writer} writes, {checker} checks"


def model_name(model: LLM) -> str:
    """Return the name that an API uses for the model, or the class of a model without a name."""
    return str(getattr(model, "model", "") or type(model).__name__)


def corpus_lines(counts: Mapping[str, int | str]) -> list[str]:
    """Return lines on the documents that were read, cleaned (by step) and left out (by reason), with examples."""
    lines = []
    if "n_documents_read" in counts:
        lines.append(f"read:     {count(int(counts['n_documents_read']), 'document')}")
    for head, group in (("cleaned: ", "cleaned"), ("left out:", "left_out")):
        by_reason = {
            name.removeprefix(f"n_{group}_"): n for name, n in counts.items() if name.startswith(f"n_{group}_")
        }
        parts = [f"{name} {n:,} ({counts[f'examples_{group}_{name}']})" for name, n in by_reason.items() if n]
        lines += [f"{head} {', '.join(parts)}"] if parts else []
    not_read = data_losses(counts).get("left out")
    return [*lines, *([f"not read: {not_read}"] if not_read else [])]


def _bound_line(head: str, bound: RequestEstimate, currency: str) -> str:
    cost = "cost unknown" if bound.cost is None else format_money(bound.cost, currency) if bound.cost else "at no cost"
    return f"{head} {count(bound.n_requests, 'request')}, up to {count(bound.tokens.n_all, 'token')}, {cost}"


def show_coverage(console: Console, state: GenerationState, counts: Mapping[MatrixField, FieldCounts]) -> None:
    """Print the matrix of accepted samples, the reasons of rejections, and pending requests."""
    labels = label_topics(state.topics)
    table = Table("topic", *map(escape, state.requested.tasks), title="accepted / requested (tried)")
    for topic in state.requested.topics:
        row = [counts[topic, task] for task in state.requested.tasks]
        table.add_row(escape(labels.get(topic, topic) or "all documents"), *map(_cell_text, row))
    console.print(table)
    reasons: Counter[str] = Counter()
    for produced in counts.values():
        reasons.update(produced.reasons)
    if reasons:
        listed = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(_MAX_REASONS))
        more = f" and {len(reasons) - _MAX_REASONS} more reasons" if len(reasons) > _MAX_REASONS else ""
        n_tried = sum(count.tried for count in counts.values())
        rejected = f"{reasons.total():,} of {n_tried:,} evidence sets: {listed}{more}"
        console.print(f"rejected: {rejected}", markup=False, soft_wrap=True)
    if n_pending := sum(count.pending for count in counts.values()):
        first = next(pending_reason(tried) for tried in state.tried if tried.outcome is DraftOutcome.PENDING)
        console.print(f"pending:  {n_pending}, whose requests failed: {first}", markup=False)


def short_lines(counts: Mapping[MatrixField, FieldCounts]) -> list[str]:
    """Return a line for each reason with its number of short matrix fields, the most frequent first."""
    reasons = Counter(count.short for count in counts.values() if count.short)
    return [f"short:    {n:,} of {len(counts):,} matrix fields: {reason}" for reason, n in reasons.most_common()]


def votes_line(votes: Sequence[TopicVotes], alpha: Mapping[str, float | None]) -> str:
    """Return a line on the agreement of the topic voters, and on the documents on which they disagree."""
    agree = "Krippendorff's alpha is not defined" if alpha["value"] is None else f"alpha {alpha['value']:.2f}"
    interval = "" if alpha["low"] is None else f" ({alpha['low']:.2f} to {alpha['high']:.2f})"
    n_pending = sum(vote.is_pending for vote in votes)
    parts = [
        f"{sum(vote.was_adjudicated for vote in votes):,} adjudicated",
        f"{sum(not vote.winner and not vote.is_pending for vote in votes):,} without a topic",
        *([f"{n_pending:,} waiting because a voter's request failed"] if n_pending else []),
    ]
    if alpha["value"] is not None and alpha["value"] < _MIN_ALPHA:
        parts.append(f"an alpha below {_MIN_ALPHA}: topics overlap, or do not fit the corpus")
    return f"voters:   {agree}{interval} over {len(votes):,} documents; {', '.join(parts)}"


def _cell_text(count: FieldCounts) -> str:
    text = f"{count.accepted}/{count.requested} ({count.tried})"
    return f"[yellow]{text}[/]" if count.accepted < count.requested else text
