"""Retrieval as a result shows it: the queries, the hits, and the reports of steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from components.fields import added_later
from components.gold_copies import GoldCopies
from components.gold_places import GoldLocator, SampleSpans
from components.json_value import Json
from components.records import Context, Documents, Hits, Queries, Sample, Spans
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.pipeline.answers.compressing import Compressed, compressor_counts
from runner.pipeline.answers.located_passages import PassagePositions
from runner.pipeline.corpus.chunk_headers import LLMHeaders, header_counts
from runner.pipeline.corpus.listed_documents import DocumentList, ListedDocuments
from runner.pipeline.corpus.original_places import PromptSpans
from runner.pipeline.corpus.refined_corpora import LLMCorpus, refiner_counts
from runner.pipeline.corpus.reply_counts import ReplyCounts
from runner.pipeline.corpus.step_reports import LINE, StepReport
from runner.pipeline.ranking.list_reranking import HitOrders
from runner.pipeline.ranking.truncated_texts import TruncatedPairs, TruncatedTexts
from runner.pipeline.search.expanding import expander_counts
from runner.pipeline.search.hit_columns import (
    FOUND_GOLD_TYPE,
    RETRIEVED_TYPE,
    GoldColumns,
    HitTable,
    add_compressed_counts,
    gold_column,
    gold_columns,
    hit_table,
    retrieved_column,
)
from runner.pipeline.search.hit_ranks import HitRanks


@dataclass(frozen=True)
class Retrieved(StageGroup):
    """Stages of retrieval that feed the table of samples, the counts and the reports."""

    queries: tuple[Stage[Queries], ...]
    corpus: Stage[Documents]
    listing: ListedDocuments
    chunks: Stage[Spans]
    hits: Stage[Hits]
    context: Stage[Context]
    copies: Stage[GoldCopies]
    cut: tuple[TruncatedTexts | TruncatedPairs, ...] = ()
    orders: Mapping[str, Stage[HitOrders]] = field(default_factory=dict)
    """Orders by "reranker" or "reranker/<step>". Only rerankers with a language model have one."""
    reports: tuple[StepReport, ...] = added_later(())
    corpora: tuple[LLMCorpus, ...] = added_later(())
    headers: tuple[LLMHeaders, ...] = added_later(())
    """Headers that language models wrote."""
    ranks: HitRanks = added_later(HitRanks())
    compressed: tuple[Compressed, ...] = added_later(())
    read: tuple[PromptSpans, ...] = added_later(())
    """The texts in the prompts, if a compressor shortened the chunks of `context`."""

    def count_replies(self, run: Run) -> dict[str, ReplyCounts]:
        """Return counts of readable replies, by step. The steps had models write documents, headers or queries, or
        order hits.
        """
        orders = {name: run.read(stage) for name, stage in self.orders.items()}
        return {
            **refiner_counts(run, self.corpora),
            **header_counts(run, self.headers),
            **expander_counts(run, self.queries),
            **{name: counts for report in self.reports for name, counts in report.count_replies(run).items()},
            **{name: ReplyCounts(order.replies, order.usage) for name, order in orders.items()},
            **compressor_counts(run, self.compressed),
        }

    def steps(self, run: Run) -> dict[str, Json]:
        """Return the reports of steps, by step."""
        reported: dict[str, dict[str, Json]] = {}
        for report in self.reports:
            reported.setdefault(report.step, {}).update(report.facts(run))
        return dict(reported)

    def notes(self, run: Run) -> dict[str, int]:
        """Return the number of copies of gold in the corpus."""
        return run.read(self.copies).counts()

    def cut_texts(self, run: Run) -> list[Json]:
        """Return the counts of texts that were longer than the models read, one entry per model and kind of text."""
        return [run.read(stage) for stage in self.cut]

    def columns(self, run: Run, samples: Sequence[Sample]) -> dict[str, pa.Array]:
        """Return the columns `query`, `retrieved`, `gold` and `found_gold`, and the columns that steps report.

        `query` lists the queries of a sample, one per line. The others hold all hits of a sample, best first, and the
        gold that these contain.
        """
        texts: list[list[str]] = [[] for _ in samples]
        for stage in self.queries:
            queries = run.read(stage)
            for text, sample in zip(queries.texts, queries.sample.tolist(), strict=True):
                texts[sample].append(text)
        query = pa.array(["\n".join(sample_texts) for sample_texts in texts], pa.string())
        reported = {name: column for report in self.reports for name, column in report.columns(run).items()}
        return {"query": query, **self._hit_columns(run, samples), **reported}

    def _hit_columns(self, run: Run, samples: Sequence[Sample]) -> dict[str, pa.Array]:
        hits, chunks, context = run.read(self.hits), run.read(self.chunks), run.read(self.context)
        listing, table = run.read(self.listing), hit_table(hits, chunks)
        lengths = listing.documents["n_characters"].to_numpy()
        places = GoldLocator(samples, listing.positions(samples), lengths, run.read(self.copies))
        gold = gold_columns(samples, places, table, chunks, context)
        for read_places in self.read:
            gold = add_compressed_counts(gold, run.read(read_places.spans), run.read(read_places.context))
        ranks = self.ranks.columns(run, table)
        return {
            "gold": gold.gold(),
            "retrieved": retrieved_column(table, hits, chunks, listing, context, gold.grades(), ranks),
            "found_gold": gold.found(),
        }


@dataclass(frozen=True)
class IndexRetrieved(Retrieved):
    """Retrieval from an existing index. Results list only the hits that are in the `loaded` corpus, with their ranks,
    because readers of results have the texts of that corpus.
    """

    loaded: ListedDocuments = field(kw_only=True)

    def columns(self, run: Run, samples: Sequence[Sample]) -> dict[str, pa.Array]:
        """Return the columns of `Retrieved` without the hits that are not in the corpus."""
        columns = super().columns(run, samples)
        present = set(run.read(self.loaded).documents["id"].to_pylist())
        retrieved = columns["retrieved"]
        present_hits = [[hit for hit in hits if hit["document_id"] in present] for hits in retrieved.to_pylist()]
        return {**columns, "retrieved": pa.array(present_hits, retrieved.type)}


@dataclass(frozen=True)
class NothingRetrieved(StageGroup):
    """Retrieval of a closed-book cell: no queries, no hits, no reports."""

    def count_replies(self, run: Run) -> dict[str, ReplyCounts]:
        return {}

    def steps(self, run: Run) -> dict[str, Json]:
        return {}

    def notes(self, run: Run) -> dict[str, int]:
        return {}

    def cut_texts(self, run: Run) -> list[Json]:
        return []

    def columns(self, run: Run, samples: Sequence[Sample]) -> dict[str, pa.Array]:
        """Return the question as the query, and no hits. `found_gold` is null, because nothing was searched for."""
        unknown = [None] * sum(len(sample.gold) for sample in samples)
        return {
            "query": pa.array([sample.question for sample in samples], pa.string()),
            "gold": gold_column(samples, unknown, unknown),
            "retrieved": pa.array([[]] * len(samples), RETRIEVED_TYPE),
            "found_gold": pa.nulls(len(samples), FOUND_GOLD_TYPE),
        }


@dataclass(frozen=True)
class PipelineRetrieved(StageGroup):
    """Passages that a custom pipeline gives, as results show them.

    All of them count as context. Their scores are 1 / rank, because the pipeline gives none.
    """

    listing: ListedDocuments
    places: Stage[PassagePositions]
    copies: Stage[GoldCopies]

    def count_replies(self, run: Run) -> dict[str, ReplyCounts]:
        return {}

    def steps(self, run: Run) -> dict[str, Json]:
        """Count the passages that are in the corpus, with a line if some are not."""
        places = run.read(self.places)
        n, n_found = len(places.document), int((places.document >= 0).sum())
        counts: dict[str, Json] = {
            "n_passages": n,
            "n_not_in_corpus": n - n_found,
            "n_near_copies": n_found - int(places.is_exact.sum()),
            "n_samples_without_passages": int((~places.is_given).sum()),
        }
        if n > n_found:
            counts[LINE] = (
                f"{n - n_found:,} of {n:,} passages of the pipeline are not in the corpus; they keep their ranks and "
                "count as passages without gold"
            )
        return {"pipeline": counts}

    def notes(self, run: Run) -> dict[str, int]:
        """Return the number of copies of gold in the corpus."""
        return run.read(self.copies).counts()

    def cut_texts(self, run: Run) -> list[Json]:
        return []

    def columns(self, run: Run, samples: Sequence[Sample]) -> dict[str, pa.Array]:
        """Return the question as the query, and the passages that are in the corpus as hits.

        For a sample whose reply does not say which passages it used, `found_gold` is null, as in a closed book.
        """
        places, listing = run.read(self.places), run.read(self.listing)
        lengths = listing.documents["n_characters"].to_numpy()
        gold = GoldLocator(samples, listing.positions(samples), lengths, run.read(self.copies))
        is_found, spans = places.document >= 0, places.found()
        row = np.arange(len(spans.sample))
        table = HitTable(len(samples), spans.sample, row, row, places.rank[is_found])
        pieces = gold.find_pieces(spans)
        held = GoldColumns(samples, gold, table, pieces, pieces)
        has_passages = np.repeat(places.is_given, [len(sample.gold) for sample in samples])
        n_in_context = pieces.n_characters(len(gold.lengths))
        return {
            "query": pa.array([sample.question for sample in samples], pa.string()),
            "gold": gold_column(
                samples,
                gold.lengths,
                [
                    n if is_given else None
                    for n, is_given in zip(n_in_context.tolist(), has_passages.tolist(), strict=True)
                ],
            ),
            "retrieved": table.lists(_hits(spans, table, listing, held.grades()), table.row),
            "found_gold": pa.array(
                [
                    units if is_given else None
                    for units, is_given in zip(held.found().to_pylist(), places.is_given.tolist(), strict=True)
                ],
                FOUND_GOLD_TYPE,
            ),
        }


def _hits(spans: SampleSpans, table: HitTable, listing: DocumentList, grades: pa.Array) -> pa.StructArray:
    n = len(spans.sample)
    fields = {field.name: field for field in RETRIEVED_TYPE.value_type}
    columns = {
        "document_id": listing.documents["id"].combine_chunks().take(pa.array(spans.document)),
        "start": pa.array(spans.start, pa.int32()),
        "end": pa.array(spans.end, pa.int32()),
        "score": pa.array(1 / table.rank, pa.float32()),
        "in_context": pa.array(np.ones(n, dtype=bool)),
        "rank": pa.array(table.rank, pa.int32()),
        "gold_grade": grades,
    }
    arrays = [columns.get(name, pa.nulls(n, field.type)) for name, field in fields.items()]
    return pa.StructArray.from_arrays(arrays, fields=list(fields.values()))
