"""Queries that a language model writes, and which queries of an expander are searched for and reranked by."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.expanders.none import NoExpander
from components.fields import runtime_only
from components.json_value import Json
from components.protocols import AnyVariant, AskedVariant, Expander
from components.records import Expansion, Queries
from runner.engine.broken_contracts import broken_contract
from runner.engine.codecs import Codec, Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.asked_counts import AskedCounts, counts_of_step, model_mistakes, reply_counts
from runner.pipeline.corpus.loaded_data import Data, Samples
from runner.pipeline.search.query_stages import SampleQueries, queries_of

PURPOSE = "expansion"

EXPANDER = "expander"
"""How an expander that asks a language model is called where judges have their names."""


@dataclass(frozen=True)
class JoinedAskedQueries(Queries):
    """Queries, with how well the model that wrote them was understood (`replies`, as `reply_counts` gives them, by
    sample: those without a reply that can be read are searched for by their question) and what that cost (`usage`).
    """

    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


@dataclass(frozen=True, eq=False)
class AskedQueries(Stage[JoinedAskedQueries]):
    """The queries that a language model writes for all samples: cells whose expanders have the variant in common share
    them.
    """

    kind: ClassVar[str] = "asked_queries"
    in_words: ClassVar[str] = "queries by a language model"
    version: ClassVar[int] = 1
    work: ClassVar[Work] = Work.PER_QUERY
    codec: ClassVar[Codec[JoinedAskedQueries]] = Columns(JoinedAskedQueries)

    variant: AskedVariant
    samples: Samples
    n_samples: int = runtime_only(0, "the samples stand in the key themselves")

    must_read_replies: ClassVar[bool] = True
    counts_ahead: ClassVar[bool] = True

    @property
    def n_requests(self) -> int:
        """One per sample, at most."""
        return self.n_samples

    def make(self, run: Run) -> JoinedAskedQueries:
        """Asks the model. Raises ComponentError if some sample has no query."""
        samples = run.read(self.samples).samples
        ask = run.ask(self.variant.llm, PURPOSE)
        written = self.variant.write(samples, ask)
        if not isinstance(written, list | tuple) or not all(isinstance(own, Expansion) for own in written):
            raise broken_contract(self.variant, "returned something else than a list of Expansion, one per sample")
        queries = queries_of(self.variant, [own.queries for own in written], len(samples))
        replies = reply_counts(written, sum(own.is_asked for own in written))
        return JoinedAskedQueries(queries.texts, queries.sample, replies, dict(ask.usage))


def searched_queries(expander: Expander, data: Data) -> tuple[Stage[Queries], ...]:
    """What is searched for: the queries of every variant."""
    return tuple(_queries(variant, data) for variant in expander.variants)


def reranking_queries(expander: Expander, data: Data) -> Stage[Queries]:
    """By what a reranker scores hits: the queries of the first variant, or the questions where it is not meant to read
    what was written for the search.
    """
    first = expander.variants[0]
    is_for_search_alone = isinstance(first, AskedVariant) and not first.reranker_reads
    return SampleQueries(NoExpander(), data.samples) if is_for_search_alone else _queries(first, data)


def unasked_queries(expander: Expander, data: Data) -> Stage[Queries]:
    """Where nothing is searched for: the queries of the first variant for which no model is asked, or the questions."""
    plain = (variant for variant in expander.variants if not isinstance(variant, AskedVariant))
    return SampleQueries(next(plain, NoExpander()), data.samples)


def gives_one_query(expander: Expander) -> bool:
    """True if every sample is searched for once: there is nothing to fuse for a single search."""
    return len(expander.variants) == 1 and getattr(expander.variants[0], "gives_one_query", False)


def _queries(variant: AnyVariant, data: Data) -> Stage[Queries]:
    if isinstance(variant, AskedVariant):
        return AskedQueries(variant, data.samples, data.n_samples)
    return SampleQueries(variant, data.samples)


def asked_counts(run: Run, queries: Iterable[Stage[Queries]]) -> dict[str, AskedCounts]:
    """By EXPANDER, what the stages among these that ask a language model say of its replies, if some do."""
    return counts_of_step(EXPANDER, [run.read(stage) for stage in queries if isinstance(stage, AskedQueries)])


def expander_mistakes(expander: Expander) -> list[str]:
    """Variants that are to ask what is no language model."""
    models = [variant.llm for variant in expander.variants if isinstance(variant, AskedVariant)]
    return model_mistakes(EXPANDER, "queries", models)


def gold_answer_mistakes(expander: Expander) -> list[str]:
    """Variants that search with answers of the data set, in a conversation in which the model gives its own."""
    if not any(getattr(variant, "with_answers", False) for variant in expander.variants):
        return []
    return [
        "expander.with_answers: got true with history=own: the answers that are searched with are those of the data "
        "set, which were not given in this conversation; expected false, or history=gold"
    ]
