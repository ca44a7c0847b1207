"""Stages of facts that a language model reads from chunks: the replies, and the distinct facts of the corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.fact_graph.fact_tables import fact_table
from components.fields import runtime_only
from components.json_value import Json
from components.protocols import FactReader, GraphArm, Retriever
from components.records import Fact, FactsOfChunk, FactTable
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.reply_counts import ReplyCounts, model_problems, reply_counts, step_counts
from runner.pipeline.corpus.text_passages import ChunkPassages

PURPOSE = "facts"
GRAPH = "graph"
"""Name of the counts of facts by a language model, which are listed with the counts of judges."""


@dataclass(frozen=True)
class ExtractedFacts:
    """The facts of all chunks as columns: chunk `chunk[i]` states the i-th fact, int32, non-decreasing.

    `n_left_out` counts the entries of replies that are not facts. `replies` and `usage` count the requests (see
    `reply_counts`).
    """

    chunk: NDArray[np.int32]
    subject: Sequence[str]
    relation: Sequence[str]
    object: Sequence[str]
    n_chunks: int
    n_left_out: int
    replies: Mapping[str, Json]
    usage: Mapping[str, int | None]


class LLMFacts(
    Stage[ExtractedFacts],
    kind="asked_facts",
    display_name="facts by a language model",
    version=1,
    repeats_unreadable=True,
    has_quick_inputs=True,
):
    """The facts of each chunk, read by a language model. A chunk without a readable reply has none."""

    codec = Columns(ExtractedFacts)

    extractor: FactReader
    chunks: ChunkPassages
    n_documents: int = runtime_only(0, "the documents are part of the corpus' key")

    @property
    def n_requests(self) -> int:
        """Number of requests, one per chunk.

        The chunks are counted ahead. If that fails, this is the number of documents.
        """
        return self.n_documents

    def make(self, run: Run) -> ExtractedFacts:
        """Request the facts of every chunk."""
        chunks = self.chunks.read(run)
        ask = run.ask(self.extractor.llm, PURPOSE)
        outcomes = _validate_facts(self.extractor.read_facts(chunks, ask), len(chunks), self.extractor)
        facts = [(chunk, fact) for chunk, outcome in enumerate(outcomes) for fact in outcome.facts]
        return ExtractedFacts(
            np.array([chunk for chunk, _ in facts], dtype=np.int32),
            [fact.subject for _, fact in facts],
            [fact.relation for _, fact in facts],
            [fact.object for _, fact in facts],
            len(chunks),
            sum(outcome.n_left_out for outcome in outcomes),
            reply_counts(outcomes, len(outcomes)),
            dict(ask.usage),
        )


def _validate_facts(outcomes: object, n_chunks: int, extractor: object) -> list[FactsOfChunk]:
    if not isinstance(outcomes, list) or not all(map(_is_valid, outcomes)):
        raise contract_error(extractor, "returned something other than a list of FactsOfChunk, one per chunk")
    if len(outcomes) != n_chunks:
        raise contract_error(extractor, f"returned facts of {len(outcomes)} chunks, expected {n_chunks}")
    return outcomes


def _is_valid(outcome: object) -> bool:
    """Return True for an outcome with fields of their types, which a custom class may violate."""
    if not isinstance(outcome, FactsOfChunk) or not all(isinstance(fact, Fact) for fact in outcome.facts):
        return False
    parts = [part for fact in outcome.facts for part in (fact.subject, fact.relation, fact.object)]
    texts: tuple[object, ...] = (outcome.unread, outcome.failed, *parts)
    return all(isinstance(text, str) for text in texts) and isinstance(outcome.n_left_out, int)


class DistinctFacts(Stage[FactTable], kind="fact_table", display_name="distinct facts", version=1):
    """The distinct facts of all chunks, and their phrases."""

    codec = Columns(FactTable)

    facts: LLMFacts

    def make(self, run: Run) -> FactTable:
        """Join equal facts and equal phrases."""
        facts = run.read(self.facts)
        columns = zip(facts.chunk.tolist(), facts.subject, facts.relation, facts.object, strict=True)
        return fact_table(((chunk, Fact(*parts)) for chunk, *parts in columns), facts.n_chunks)


def fact_counts(run: Run, stages: Sequence[LLMFacts]) -> dict[str, ReplyCounts]:
    """Return the counts of facts by a language model under GRAPH, or {} if no model found facts."""
    return step_counts(GRAPH, map(run.read, stages))


def extractor_problems(retriever: Retriever) -> list[str]:
    """Return error messages for graphs with another kind of model than a language model for facts."""
    names: Sequence[str] = getattr(retriever, "arm_names", ())
    paths = [f"retriever.searches.{name}" for name in names] or ["retriever"] * len(retriever.arms)
    return [
        problem
        for arm, path in zip(retriever.arms, paths, strict=True)
        if isinstance(arm, GraphArm)
        for problem in model_problems(f"{path}.extractor", "facts", [arm.extractor.llm])
    ]
