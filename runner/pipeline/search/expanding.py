"""Stages of queries that a language model writes, and the choice of queries for search and reranking."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.expanders.none import NoExpander
from components.fields import runtime_only
from components.json_value import Json
from components.protocols import AnyVariant, AskedVariant, Expander
from components.records import Expansion, Queries
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import DatasetStages, Samples
from runner.pipeline.corpus.reply_counts import ReplyCounts, model_problems, reply_counts, step_counts
from runner.pipeline.search.query_stages import SampleQueries, join_queries

PURPOSE = "expansion"

EXPANDER = "expander"
"""Name of the counts of an expander with a language model. They are listed with the counts of judges."""


@dataclass(frozen=True)
class JoinedLLMQueries(Queries):
    """Queries by a language model, with the counts of replies by sample (see `reply_counts`) and their usage.

    A sample without a readable reply is searched for by its question.
    """

    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


class LLMQueries(
    Stage[JoinedLLMQueries],
    kind="asked_queries",
    display_name="queries by a language model",
    version=1,
    work=Work.PER_QUERY,
    repeats_unreadable=True,
    has_quick_inputs=True,
):
    """The queries that a language model writes for all samples. Cells with the same variant share them."""

    codec = Columns(JoinedLLMQueries)

    variant: AskedVariant
    samples: Samples
    n_samples: int = runtime_only(0, "the samples are part of the key")

    @property
    def n_requests(self) -> int:
        """Number of requests: at most one per sample."""
        return self.n_samples

    def make(self, run: Run) -> JoinedLLMQueries:
        """Send the requests. Raises ComponentError if some sample has no query."""
        samples = run.read(self.samples).samples
        ask = run.ask(self.variant.llm, PURPOSE)
        written = self.variant.write(samples, ask)
        if not isinstance(written, list | tuple) or not all(isinstance(expansion, Expansion) for expansion in written):
            raise contract_error(self.variant, "returned something other than a list of Expansion, one per sample")
        queries = join_queries(self.variant, [expansion.queries for expansion in written], len(samples))
        replies = reply_counts(written, sum(expansion.is_asked for expansion in written))
        return JoinedLLMQueries(queries.texts, queries.sample, replies, dict(ask.usage))


def build_search_queries(expander: Expander, data: DatasetStages) -> tuple[Stage[Queries], ...]:
    """Return the queries of every variant, which are searched for."""
    return tuple(_queries(variant, data) for variant in expander.variants)


def build_reranking_queries(expander: Expander, data: DatasetStages) -> Stage[Queries]:
    """Return the queries that a reranker reads: the queries of the first variant, or the questions.

    The questions are read if the variant's queries are only written for the search.
    """
    first = expander.variants[0]
    is_only_for_search = isinstance(first, AskedVariant) and not first.reranker_reads
    return SampleQueries(NoExpander(), data.samples) if is_only_for_search else _queries(first, data)


def build_queries_without_model(expander: Expander, data: DatasetStages) -> Stage[Queries]:
    """Return the queries of a cell that does not search.

    These are the queries of the first variant without a model, or the questions.
    """
    plain = (variant for variant in expander.variants if not isinstance(variant, AskedVariant))
    return SampleQueries(next(plain, NoExpander()), data.samples)


def gives_one_query(expander: Expander) -> bool:
    """Return True if every sample has one query, so that a single search needs no fusion."""
    return len(expander.variants) == 1 and getattr(expander.variants[0], "gives_one_query", False)


def _queries(variant: AnyVariant, data: DatasetStages) -> Stage[Queries]:
    if isinstance(variant, AskedVariant):
        return LLMQueries(variant, data.samples, data.n_samples)
    return SampleQueries(variant, data.samples)


def expander_counts(run: Run, queries: Iterable[Stage[Queries]]) -> dict[str, ReplyCounts]:
    """Return the counts of queries by a language model under EXPANDER, or {} if no model wrote queries."""
    return step_counts(EXPANDER, [run.read(stage) for stage in queries if isinstance(stage, LLMQueries)])


def expander_problems(expander: Expander) -> list[str]:
    """Return error messages for variants with another kind of model than a language model."""
    models = [variant.llm for variant in expander.variants if isinstance(variant, AskedVariant)]
    return model_problems(EXPANDER, "queries", models)


def gold_answer_problems(expander: Expander) -> list[str]:
    """Return a message for variants that search with gold answers although the history has the model's answers."""
    if not any(getattr(variant, "with_answers", False) for variant in expander.variants):
        return []
    return [
        "expander.with_answers: got true with history=own, expected false, or history=gold. The search would use "
        "answers from the data set, which are not part of this conversation."
    ]
