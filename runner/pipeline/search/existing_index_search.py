"""Stages that search an existing index, such as a user's table.

Its hits are texts. Each is located in the corpus like the passages of a custom pipeline, and becomes a chunk there. A
text that is not in the corpus is appended as a document, so that it keeps its rank and later steps can read
it. It has no gold, and results do not list it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from components.errors import ComponentError
from components.json_value import Json
from components.protocols import ExistingIndexArm, Retriever
from components.records import Documents, Hits, IndexedText, Queries, Spans
from components.secrets.mask import current_mask
from components.text.passage_search import SoughtPassage, locate_passages
from components.text.ranking import hits_in_order
from runner.engine.broken_contracts import contract_error
from runner.engine.codecs import Columns
from runner.engine.stage import AnyStage, ServerRequests, Stage, Work
from runner.engine.stage_run import Run
from runner.pipeline.corpus.chunk_vectors import build_fitted_embedder
from runner.pipeline.corpus.loaded_data import CorpusCodec, DatasetStages
from runner.pipeline.corpus.step_reports import LINE, StepReport
from runner.pipeline.corpus.text_passages import QueryPassages, build_query_terms
from runner.pipeline.search.dense_search import QueryVectors

_OUTSIDE = "not in the corpus: "


@dataclass(frozen=True)
class IndexReplies:
    """The hits of all queries in sequence, best first. The hits of query i are rows `offsets[i]` to `offsets[i + 1]`
    of the table `hits`, whose columns are the fields of `IndexedText`.
    """

    offsets: NDArray[np.int64]
    hits: pa.Table

    def hits_by_query(self) -> list[list[IndexedText]]:
        """Return the hits of each query."""
        hits = [IndexedText(**row) for row in self.hits.to_pylist()]
        return [hits[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]


class ExternalIndexReplies(
    Stage[IndexReplies], kind="asked_index", display_name="search in an existing index", version=1, work=Work.PER_QUERY
):
    """The hits of an index outside the store for all queries."""

    codec = Columns(IndexReplies)

    arm: ExistingIndexArm
    depth: int
    queries: QueryPassages
    vectors: tuple[QueryVectors, ...]
    """One stage, or () if the arm reads no vectors."""

    def server_requests(self, run: Run) -> ServerRequests:
        """Return one search per query."""
        return ServerRequests(self.arm, len(self.queries.read(run).texts), 0, is_exact=True)

    def make(self, run: Run) -> IndexReplies:
        """Search. Raises ComponentError if no query has a hit, because the index or the search is then wrong."""
        queries = self.queries.read(run).texts
        vectors = run.read(self.vectors[0]) if self.vectors else None
        rankings = []
        for hits in self.arm.find(queries, vectors, self.depth):
            rankings.append(list(hits))
            run.report(len(rankings), len(queries))
        if problem := _problem(rankings, len(queries), self.depth):
            raise contract_error(self.arm, problem)
        if queries and not any(rankings):
            raise ComponentError(
                f"retriever: {type(self.arm).__name__} found nothing for any of {len(queries):,} queries. Check that "
                "the index is filled, and what your query selects."
            )
        mask = current_mask()  # a server may repeat the key that it got
        columns = {
            name: [mask.hide_known(getattr(hit, name)) for hits in rankings for hit in hits]
            for name in ("text", "id", "document")
        }
        return IndexReplies(
            np.cumsum([0, *map(len, rankings)], dtype=np.int64),
            pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}),
        )


def _problem(rankings: Sequence[Sequence[IndexedText]], n_queries: int, depth: int) -> str:
    """Describe a contract violation, or return "" if the output is valid."""
    if len(rankings) != n_queries:
        return f"found hits for {len(rankings)} queries, expected {n_queries}"
    for row, hits in enumerate(rankings):
        if len(hits) > depth:
            return f"query {row} has {len(hits)} hits, expected at most {depth}"
        if not all(isinstance(hit, IndexedText) for hit in hits):
            return f"query {row} has hits that are not IndexedText"
    return ""


@dataclass(frozen=True)
class HitSpans:
    """The distinct hits of an index with a text, in the order in which they were found, and their places.

    `texts` has the columns of `IndexedText`. `document`, `start` and `end`, int32, are the place in the corpus; -1 for
    a text that is not in the corpus. `is_exact` is False for a near copy.
    """

    texts: pa.Table
    document: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    is_exact: NDArray[np.bool_]

    def spans(self, n_documents: int) -> NDArray[np.int32]:
        """Return the document, start and end of each text as rows. Texts outside the corpus are the documents from
        `n_documents` on, in their order.
        """
        rows = np.stack([self.document, self.start, self.end], axis=1)
        outside = np.flatnonzero(self.document < 0)
        lengths = [len(self.texts["text"][row].as_py()) for row in outside.tolist()]
        rows[outside] = np.array([(n_documents + i, 0, n) for i, n in enumerate(lengths)], np.int32).reshape(-1, 3)
        return rows


class LocatedHits(Stage[HitSpans], kind="located_hits", version=1, work=Work.BENCHMARK):
    """The hits of an index, located in the corpus."""

    codec = Columns(HitSpans)

    corpus: Stage[Documents]
    replies: tuple[ExternalIndexReplies, ...]

    def make(self, run: Run) -> HitSpans:
        """Search the corpus for each distinct text."""
        hits = [hit for stage in self.replies for ranking in run.read(stage).hits_by_query() for hit in ranking]
        distinct = list(dict.fromkeys(hit for hit in hits if hit.text.strip()))
        sought = [SoughtPassage(hit.text, tuple(filter(None, (hit.document, hit.id)))) for hit in distinct]
        places = locate_passages(sought, run.read(self.corpus))
        rows = np.array([place[:3] if place else (-1, -1, -1) for place in places], np.int32).reshape(-1, 3)
        columns = {name: [getattr(hit, name) for hit in distinct] for name in ("text", "id", "document")}
        return HitSpans(
            pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}),
            np.ascontiguousarray(rows[:, 0]),
            np.ascontiguousarray(rows[:, 1]),
            np.ascontiguousarray(rows[:, 2]),
            np.array([bool(place and place.is_exact) for place in places], dtype=bool),
        )


class IndexedCorpus(Stage[Documents], kind="indexed_corpus", version=1, work=Work.BENCHMARK):
    """The corpus, followed by a document for each hit that it does not contain."""

    codec = CorpusCodec()

    corpus: Stage[Documents]
    places: LocatedHits

    def make(self, run: Run) -> Documents:
        """Append the texts. Their ids consist of a number and the id in the index."""
        documents, places = run.read(self.corpus), run.read(self.places)
        rows = places.texts.filter(pa.array(places.document < 0)).to_pylist()
        ids = [f"{_OUTSIDE}{number} {row['id']}".rstrip() for number, row in enumerate(rows, 1)]
        return Documents(
            [*documents.ids, *ids],
            [*documents.titles, *(row["document"] for row in rows)],
            [*documents.texts, *(row["text"] for row in rows)],
            [*documents.metadata, *({} for _ in rows)] if documents.metadata else (),
        )


class IndexedChunks(Stage[Spans], kind="indexed_chunks", version=1, work=Work.BENCHMARK):
    """The distinct spans of all hits, as chunks of an `IndexedCorpus`."""

    codec = Columns(Spans)

    corpus: Stage[Documents]
    places: LocatedHits

    def make(self, run: Run) -> Spans:
        """Sort the spans."""
        spans = run.read(self.places).spans(len(run.read(self.corpus)))
        return Spans(*(np.ascontiguousarray(column) for column in np.unique(spans, axis=0).T))


class IndexedHits(Stage[Hits], kind="indexed_hits", version=1, work=Work.PER_QUERY):
    """The hits as chunks, with reciprocal ranks as scores.

    A hit without a text is left out, and so is a hit with the same span as a better hit of the query.
    """

    codec = Columns(Hits)

    corpus: Stage[Documents]
    places: LocatedHits
    replies: ExternalIndexReplies
    chunks: IndexedChunks

    def make(self, run: Run) -> Hits:
        """Look up the chunk of each hit."""
        chunks = run.read(self.chunks)
        columns = (chunks.document.tolist(), chunks.start.tolist(), chunks.end.tolist())
        number = {span: chunk for chunk, span in enumerate(zip(*columns, strict=True))}
        places = run.read(self.places)
        spans = map(tuple, places.spans(len(run.read(self.corpus))).tolist())
        texts = (IndexedText(**row) for row in places.texts.to_pylist())
        chunk_of = {text: number[span] for text, span in zip(texts, spans, strict=True)}
        rankings = run.read(self.replies).hits_by_query()
        return hits_in_order(
            [list(dict.fromkeys(chunk_of[hit] for hit in ranking if hit in chunk_of)) for ranking in rankings]
        )


@dataclass(frozen=True)
class IndexReport(StepReport):
    """Report of the hits that are not in the corpus."""

    step: ClassVar[str] = "retriever"

    places: LocatedHits
    rankings: tuple[IndexedHits, ...]

    @property
    def also_read(self) -> Sequence[AnyStage]:
        return [stage.replies for stage in self.rankings]

    def facts(self, run: Run) -> Mapping[str, Json]:
        """Return counts of hits, with a line if some are not in the corpus. A hit counts once per query."""
        places = run.read(self.places)
        row_of = {IndexedText(**row): number for number, row in enumerate(places.texts.to_pylist())}
        hits = [
            hit for stage in self.rankings for ranking in run.read(stage.replies).hits_by_query() for hit in ranking
        ]
        rows = np.array([row_of.get(hit, -1) for hit in hits], dtype=np.int64)
        rows = rows[rows >= 0]
        n_hits = sum(int((run.read(stage).chunk >= 0).sum()) for stage in self.rankings)
        n_outside = int((places.document[rows] < 0).sum())
        counts: dict[str, Json] = {
            "n_hits": len(hits),
            "n_not_in_corpus": n_outside,
            "n_near_copies": int((~places.is_exact[rows] & (places.document[rows] >= 0)).sum()),
            "n_repeated": len(rows) - n_hits,
            "n_without_text": len(hits) - len(rows),
        }
        if n_outside:
            counts[LINE] = (
                f"{n_outside:,} of {len(hits):,} hits of the index are not in the corpus; they keep their ranks and "
                "count as hits without gold"
            )
        return counts


@dataclass(frozen=True)
class ExistingIndexSearch:
    """The stages of a search in an existing index: `data` has the corpus that later steps read."""

    data: DatasetStages
    chunks: IndexedChunks
    places: LocatedHits
    rankings: tuple[IndexedHits, ...]


def find_existing_index_arm(retriever: Retriever) -> ExistingIndexArm | None:
    """Return the arm that searches an existing index; None for a retriever that searches the corpus."""
    return next((arm for arm in retriever.arms if isinstance(arm, ExistingIndexArm)), None)


def build_indexed_stages(
    arm: ExistingIndexArm, depth: int, data: DatasetStages, queries: Sequence[Stage[Queries]]
) -> ExistingIndexSearch:
    """Return the stages that search for every variant of the query, and locate the hits."""
    replies = tuple(_index_replies(arm, depth, data, variant) for variant in queries)
    places = LocatedHits(data.corpus, replies)
    corpus = IndexedCorpus(data.corpus, places)
    chunks = IndexedChunks(data.corpus, places)
    hits = tuple(IndexedHits(data.corpus, places, stage, chunks) for stage in replies)
    return ExistingIndexSearch(replace(data, corpus=corpus), chunks, places, hits)


def _index_replies(
    arm: ExistingIndexArm, depth: int, data: DatasetStages, queries: Stage[Queries]
) -> ExternalIndexReplies:
    embedder = arm.embedder
    if embedder is None or not arm.reads_vectors:
        return ExternalIndexReplies(arm, depth, QueryPassages(queries), ())
    passages = QueryPassages(queries, build_query_terms(embedder.tokenizer, queries, data))
    vectors = QueryVectors(embedder, passages, build_fitted_embedder(embedder, data))
    return ExternalIndexReplies(arm, depth, passages, (vectors,))
