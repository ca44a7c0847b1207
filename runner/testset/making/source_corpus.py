"""The documents of a run: which of them samples may remove from the corpus, and the search among the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from components.errors import ConfigError
from components.protocols import Chunker, WordTokenizer
from components.records import Documents, IndexBlock, Passages, Spans, SpanTexts, Terms
from components.sparse_indexes.bm25 import Bm25
from components.testset.records import Extract, Topic
from components.text.corpus_tables import TermTable, build_term_table, query_terms, segment
from components.text.languages import NAMES, UNKNOWN, detect_language
from components.text.seeded import seeded_fraction
from runner.engine.codecs import Columns, Parts
from runner.engine.stage import Stage
from runner.engine.stage_run import Run
from runner.pipeline.corpus.corpus_terms import TermTableCodec
from runner.pipeline.corpus.loaded_data import CorpusCodec, LoadedSource

_MAX_TERMS = 64
"""Highest number of terms of a query that is searched with all its terms."""

_DEEPER = 4
"""Number of segments that are searched for each requested document, because several may belong to one document."""


def check_language(named: str, texts: Iterable[str]) -> None:
    """Raise ConfigError if the texts seem to be in another language than the named one.

    Drafts in the language of the prompts would all be paid for and then rejected. A language that is not recognized
    passes. So does any text if the user names several languages.
    """
    detected = detect_language(texts)
    if UNKNOWN in (named, detected) or detected == named:
        return
    raise ConfigError(
        f"language: got {named}, but the corpus seems to be {NAMES[detected]}. Use language={detected}, or "
        f"language={UNKNOWN}: English prompts that request the language of the documents."
    )


class GenerationCorpus(Stage[Documents], kind="testset_corpus", version=1):
    """The documents, identified by their content. Counts of documents that were left out change no later stage."""

    codec = CorpusCodec()

    source: LoadedSource

    def make(self, run: Run) -> Documents:
        """Return the documents of the source, sorted by id."""
        documents = run.read(self.source).documents
        return documents.at(sorted(range(len(documents)), key=lambda row: documents.ids[row]))


@dataclass(frozen=True)
class SegmentIndex:
    """BM25 over segments of all documents. `stays` bool[n_spans] is False for segments of removable documents."""

    spans: Spans
    stays: NDArray[np.bool_]
    terms: TermTable
    built: Parts


class SegmentIndexCodec:
    """Stores the arrays of an index, and its vocabulary as a table."""

    def encode(self, result: SegmentIndex) -> Parts:
        """Return all parts. A prefix in the name of a part tells its owner."""
        spans, terms = Columns(Spans).encode(result.spans), TermTableCodec().encode(result.terms)
        parts = {f"spans_{name}": part for name, part in spans.items()}
        parts |= {f"terms_{name}": part for name, part in terms.items()}
        return {**parts, "stays": result.stays, **{f"index_{name}": part for name, part in result.built.items()}}

    def decode(self, parts: Parts) -> SegmentIndex:
        """Return the index that was encoded."""

        def own(prefix: str) -> Parts:
            return {name.removeprefix(prefix): parts[name] for name in parts if name.startswith(prefix)}

        spans, terms = Columns(Spans).decode(own("spans_")), TermTableCodec().decode(own("terms_"))
        return SegmentIndex(spans, parts["stays"], terms, own("index_"))


class IndexedSegments(Stage[SegmentIndex], kind="testset_index", version=3):
    """Cuts the documents into segments and indexes them."""

    codec = SegmentIndexCodec()

    chunker: Chunker
    tokenizer: WordTokenizer
    corpus: Stage[Documents]
    removable_share: float
    seed: int

    def make(self, run: Run) -> SegmentIndex:
        """Build the index over all documents."""
        documents = run.read(self.corpus)
        stays = np.array([not is_removable(i, self.removable_share, self.seed) for i in documents.ids], dtype=bool)
        spans = self.chunker.chunk(documents, segment(documents.texts, self.chunker.length_tokenizer))
        terms = build_term_table(documents.texts, self.tokenizer)
        built = Bm25(tokenizer=self.tokenizer).build(_passages(documents, spans, terms))
        return SegmentIndex(spans, stays[spans.document], terms, built)


def _passages(documents: Documents, spans: Spans, terms: TermTable) -> Passages:
    return Passages(SpanTexts(documents.texts, spans), terms.chunk_terms(spans), ())


def is_removable(document_id: str, share: float, seed: int) -> bool:
    """Return True if samples may remove a document from the corpus. Other samples then do not use it. The decision
    depends only on the document's id and the seed, so later documents do not change it.
    """
    return seeded_fraction(f"{seed} removable {document_id}") < share


def seeded_order(ids: Sequence[str], seed: int) -> list[str]:
    """Return the ids in an order that depends on the seed. Further ids do not change the order of the others."""
    return sorted(ids, key=lambda document_id: (seeded_fraction(f"{seed} order {document_id}"), document_id))


@dataclass(frozen=True)
class SearchedCorpus:
    """A corpus with a search. See `components.testset.protocols.SourceCorpus`."""

    documents: Documents
    index: SegmentIndex
    tokenizer: WordTokenizer
    topics: Sequence[Topic] = ()

    @cached_property
    def texts(self) -> Mapping[str, str]:
        return dict(zip(self.documents.ids, self.documents.texts, strict=True))

    @cached_property
    def titles(self) -> Mapping[str, str]:
        return dict(zip(self.documents.ids, self.documents.titles, strict=True))

    def nearest(self, queries: Sequence[str], n: int, *, staying: bool = False) -> list[list[Extract]]:
        """Return for each query the best segments, at most `n`, each from a different document. The list is empty for a
        query without a known word.
        """
        allowed = self.index.stays if staying else np.ones_like(self.index.stays)
        if not queries or not allowed.any():
            return [[] for _ in queries]
        bm25 = Bm25(tokenizer=self.tokenizer, max_share_without_hits=1.0)
        terms = self._distinctive_terms(query_terms(queries, self.tokenizer, self.index.terms))
        depth = ceil(n * _DEEPER / allowed.mean())
        used, ids = np.unique(terms.ids, return_inverse=True)
        block = IndexBlock(self.index.built, np.arange(len(allowed), dtype=np.int32), used.astype(np.int32))
        own_terms = Terms(ids.astype(np.int32), terms.first, terms.last, len(used))
        hits = bm25.search([block], Passages(queries, own_terms), depth)
        return [self._extracts(row[(row >= 0) & allowed[row]].tolist(), n) for row in hits.chunk]

    def _distinctive_terms(self, terms: Terms) -> Terms:
        """Reduce long queries to the terms that the fewest segments have, but more than one. They tell the subject of a
        text, and the search takes a twentieth of the time. Source of the idea: Lucene's MoreLikeThis.
        """
        n_segments_with = np.diff(self.index.built["indptr"])
        rows = []
        for query in range(len(terms)):
            ids_of_query = np.unique(terms.row(query))
            if len(ids_of_query) <= _MAX_TERMS:
                rows.append(terms.row(query))
                continue
            ids_of_query = ids_of_query[n_segments_with[ids_of_query] > 1]
            rows.append(ids_of_query[np.argsort(n_segments_with[ids_of_query], kind="stable")[:_MAX_TERMS]])
        ends = np.cumsum([0, *map(len, rows)])
        ids = np.concatenate([*rows, np.zeros(0, dtype=np.int32)]).astype(np.int32)
        return Terms(ids, ends[:-1], ends[1:], terms.n_vocabulary)

    def _extracts(self, positions: Sequence[int], n: int) -> list[Extract]:
        """Return the first `n` segments that belong to different documents."""
        by_row: dict[int, Extract] = {}
        spans = self.index.spans
        for position in positions:
            if len(by_row) == n:
                break
            row, start, end = int(spans.document[position]), int(spans.start[position]), int(spans.end[position])
            if row not in by_row:
                text = self.documents.texts[row][start:end]
                by_row[row] = Extract(self.documents.ids[row], self.documents.titles[row], start, end, text)
        return list(by_row.values())
