"""Stages that leave out documents by a filter, before the ranking is cut at its depth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.json_value import Json
from components.protocols import Filter
from components.records import AllowedDocuments, Documents, Hits, Queries, Spans
from components.text.ranking import drop_hits
from runner.engine.codecs import Columns
from runner.engine.stage import Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.chunk_stages import ChunkFacts, find_chunk_facts
from runner.pipeline.corpus.loaded_data import CorpusCodec, DatasetStages, Samples
from runner.pipeline.corpus.step_reports import LINE, StepReport
from runner.pipeline.search.checked_hits import validate_allowed
from runner.pipeline.search.searching import Search, iterate_search_inputs

_DEEPER = 8
"""Factor of the depth of the next search for queries that lack hits."""
_HITS_AT_ONCE = 20_000_000
"""Maximum number of hits of a deeper search, with 8 bytes each."""


class FilteredDocuments(Stage[AllowedDocuments], kind="allowed_documents", version=1, work=Work.PER_QUERY):
    """The documents that each sample may find."""

    codec = Columns(AllowedDocuments)

    filter: Filter
    samples: Samples
    corpus: Stage[Documents]

    def make(self, run: Run) -> AllowedDocuments:
        """Ask the filter. Raises ComponentError if the filter breaks its contract."""
        samples, documents = run.read(self.samples).samples, run.read(self.corpus)
        return validate_allowed(self.filter.allow(samples, documents), len(samples), len(documents), self.filter)


class ChunkRecords(Stage[Documents], kind="chunk_records", version=1):
    """Records of chunks for a filter, used if the chunker knows metadata of its chunks.

    A record has the id and the metadata of the chunk's document, and these facts, but no text.
    """

    codec = CorpusCodec()

    corpus: Stage[Documents]
    chunks: Stage[Spans]
    facts: ChunkFacts

    def make(self, run: Run) -> Documents:
        """Join the metadata and the facts."""
        documents, rows = run.read(self.corpus), run.read(self.chunks).document.tolist()
        metadata = documents.metadata or [{}] * len(documents)
        records = [{**metadata[i], **facts} for i, facts in zip(rows, run.read(self.facts), strict=True)]
        return Documents(
            [documents.ids[i] for i in rows], [documents.titles[i] for i in rows], [""] * len(rows), records
        )


class RecordSpans(Stage[Spans], kind="record_spans", version=1):
    """The spans of the chunks, each chunk as a separate record."""

    codec = Columns(Spans)

    chunks: Stage[Spans]

    def make(self, run: Run) -> Spans:
        chunks = run.read(self.chunks)
        return Spans(np.arange(len(chunks), dtype=np.int32), chunks.start, chunks.end)


class FilteredHits(Stage[Hits], kind="filtered_hits", version=1, work=Work.PER_QUERY):
    """The best chunks of the allowed documents. If enough are allowed, as many as the search returns without a filter.

    Scores come from the search in the whole corpus. The search without a filter comes first, and is shared with
    cells without a filter. Queries that lack hits are searched for again, at a larger depth, until they have enough or
    the corpus is exhausted.
    """

    codec = Columns(Hits)

    search: Search
    queries: Stage[Queries]
    allowed: Stage[AllowedDocuments]
    chunks: Stage[Spans]
    read_by_search: tuple[Stage[object], ...] = runtime_only((), "they are part of the search's key")

    def make(self, run: Run) -> Hits:
        """Filter the hits, and search deeper for queries with too few."""
        unfiltered, chunks = run.read(self.search), run.read(self.chunks)
        sieve = _DocumentFilter(run.read(self.allowed), run.read(self.queries), chunks)
        everyone = np.arange(len(unfiltered), dtype=np.int64)
        hits = sieve.keep_allowed(unfiltered, everyone)
        depth, pending = unfiltered.chunk.shape[1], everyone[sieve.needs_deeper(unfiltered, hits, everyone)]
        while len(pending) and depth < len(chunks):
            depth = min(max(depth * _DEEPER, sieve.likely_depth(pending, hits.chunk.shape[1])), len(chunks))
            still = []
            for some in np.array_split(pending, -(-len(pending) * depth // _HITS_AT_ONCE)):
                deeper = self.search.search(run, depth, some)
                best = sieve.keep_allowed(deeper, some)
                n = min(hits.chunk.shape[1], best.chunk.shape[1])
                hits.chunk[some, :n], hits.score[some, :n] = best.chunk[:, :n], best.score[:, :n]
                still.append(some[sieve.needs_deeper(deeper, Hits(hits.chunk[some], hits.score[some]), some)])
            pending = np.concatenate(still)
            run.report(len(everyone) - len(pending), len(everyone))
        return hits


class _DocumentFilter:
    """Selects the chunks that queries may find. Queries are given by their positions among all queries."""

    def __init__(self, allowed: AllowedDocuments, queries: Queries, chunks: Spans) -> None:
        self._allowed, self._document = allowed, chunks.document
        self._group = allowed.group[queries.sample]
        self._n_documents = 1 + max(int(chunks.document.max(initial=-1)), int(allowed.document.max(initial=-1)))
        n_chunks = np.bincount(chunks.document, minlength=self._n_documents)
        self._n_chunks = np.array(
            [n_chunks[allowed.of_group(i)].sum() for i in range(allowed.n_groups)], dtype=np.int64
        )

    def keep_allowed(self, hits: Hits, queries: NDArray[np.int64]) -> Hits:
        """Return the hits that are allowed."""
        group = self._group[queries]
        dropped = np.ones(hits.chunk.shape, dtype=bool)
        for number in np.unique(group).tolist():
            is_allowed = np.zeros(self._n_documents, dtype=bool)
            is_allowed[self._allowed.of_group(number)] = True
            rows = group == number
            dropped[rows] = ~is_allowed[self._document[hits.chunk[rows]]]
        return drop_hits(hits, dropped)

    def likely_depth(self, queries: NDArray[np.int64], n_hits: int) -> int:
        """Estimate the depth that gives every query its hits, if allowed chunks are spread evenly over the ranking."""
        n_allowed = np.maximum(self._n_chunks[self._group[queries]], 1)
        return int((np.minimum(n_hits, n_allowed) * len(self._document) / n_allowed).max())

    def needs_deeper(self, unfiltered: Hits, allowed: Hits, queries: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return True for queries that need a deeper search.

        They have fewer hits than the ranking has room for and than there are allowed chunks, and their last search was
        cut at its depth.
        """
        n_possible = np.minimum(self._n_chunks[self._group[queries]], allowed.chunk.shape[1])
        is_short = np.count_nonzero(allowed.chunk >= 0, axis=1) < n_possible
        result: NDArray[np.bool_] = is_short & (unfiltered.chunk >= 0).all(axis=1)
        return result


@dataclass(frozen=True)
class FilterReport(StepReport):
    """Report of the documents that the filter allows."""

    step: ClassVar[str] = "filter"

    samples: Samples
    corpus: Stage[Documents]
    allowed: Stage[AllowedDocuments]
    hits: Stage[Hits]

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return counts of the filter's effect.

        `n_documents`, or `n_chunks` if these have facts, counts all records. `n_allowed_min` and `n_allowed_max` are
        the smallest and largest number that a sample may find. `n_samples_without_documents` (or `_chunks`) and
        `n_samples_without_hits` count samples that find nothing. `n_samples_without_gold` counts samples whose gold in
        the corpus is all excluded.
        """
        samples, allowed, ids = run.read(self.samples).samples, run.read(self.allowed), run.read(self.corpus).ids
        records = "chunks" if isinstance(self.corpus, ChunkRecords) else "documents"
        n_allowed = np.diff(allowed.offsets)[allowed.group]
        present = set(ids)
        groups = [{ids[i] for i in allowed.of_group(group).tolist()} for group in range(allowed.n_groups)]
        gold = [{unit.document_id for unit in sample.gold} & present for sample in samples]
        n_blind = sum(
            bool(gold_ids) and gold_ids.isdisjoint(groups[group])
            for gold_ids, group in zip(gold, allowed.group.tolist(), strict=True)
        )
        facts = {
            f"n_{records}": len(ids),
            "n_allowed_min": int(n_allowed.min(initial=len(ids))),
            "n_allowed_max": int(n_allowed.max(initial=0)),
            f"n_samples_without_{records}": int(np.count_nonzero(n_allowed == 0)),
            "n_samples_without_hits": int(np.count_nonzero((run.read(self.hits).chunk < 0).all(axis=1))),
            "n_samples_without_gold": n_blind,
        }
        ends = dict.fromkeys(f"{facts[name]:,}" for name in ("n_allowed_min", "n_allowed_max"))
        line = (
            f"filter: {' to '.join(ends)} of {len(ids):,} {records} may be found; {n_blind:,} of {len(samples):,} "
            "samples have gold only in other documents"
        )
        return {**facts, LINE: line}


def build_document_filter(a_filter: Filter, data: DatasetStages, chunks: Stage[Spans]) -> FilteredDocuments | None:
    """Return the stage that filters documents, or chunks if the chunker knows their metadata.

    Return None if the cell has no filter.
    """
    if a_filter.is_open:
        return None
    facts = find_chunk_facts(chunks)
    corpus = ChunkRecords(data.corpus, chunks, facts[0]) if facts else data.corpus
    return FilteredDocuments(a_filter, data.samples, corpus)


def filter_reports(data: DatasetStages, allowed: FilteredDocuments | None, hits: Stage[Hits]) -> tuple[StepReport, ...]:
    """Return the report of the filter, if there is one."""
    return () if allowed is None else (FilterReport(data.samples, allowed.corpus, allowed, hits),)


def build_filtered_search(
    search: Search, queries: Stage[Queries], allowed: FilteredDocuments | None, chunks: Stage[Spans]
) -> Stage[Hits]:
    """Return the stage that searches among the allowed documents, or `search` itself without a filter."""
    if allowed is None:
        return search
    spans = RecordSpans(chunks) if isinstance(allowed.corpus, ChunkRecords) else chunks
    return FilteredHits(search, queries, allowed, spans, tuple(iterate_search_inputs(search)))
