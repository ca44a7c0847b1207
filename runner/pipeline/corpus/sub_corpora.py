"""Corpora side by side: each has a separate index, and a query searches one of them.

A sub-corpus contains the documents whose ids have the same prefix (`Sample.corpus_prefix`). It is a range, because
documents and chunks are sorted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.records import Documents, Hits, Passages, Queries, Spans, Terms
from runner.engine.codecs import Parts
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.pipeline.corpus.loaded_data import DatasetStages, Samples
from runner.pipeline.corpus.partition import prefix_range

Rows = slice | NDArray[np.int64]

ALL = slice(None)


class SubCorpus(NamedTuple):
    """One of several corpora side by side, or the only corpus.

    `chunks` and `queries` are its rows among all chunks and queries. `number` counts the sub-corpora.
    """

    number: int | None = None
    chunks: slice = ALL
    queries: Rows = ALL


@dataclass(frozen=True)
class OneCorpus(StageGroup):
    """A single corpus: all documents are searched together."""

    def ranges(self, run: Run) -> list[SubCorpus]:
        return [SubCorpus()]


@dataclass(frozen=True)
class SeveralCorpora(StageGroup, name_in_keys="SideBySide"):
    """Several corpora, by the prefixes of their documents' ids."""

    prefixes: tuple[str, ...]
    corpus: Stage[Documents]
    chunks: Stage[Spans]

    def ranges(self, run: Run) -> list[SubCorpus]:
        """Return the sub-corpora in the order of the prefixes, without their queries."""
        ids = run.read(self.corpus).ids
        document = run.read(self.chunks).document
        parts = []
        for number, prefix in enumerate(self.prefixes):
            first, last = np.searchsorted(document, prefix_range(ids, prefix))
            parts.append(SubCorpus(number, slice(int(first), int(last))))
        return parts


SubCorpora = OneCorpus | SeveralCorpora


@dataclass(frozen=True)
class QueriedCorpora(StageGroup, name_in_keys="SearchedSideBySide"):
    """Several corpora with the queries that search each of them."""

    corpora: SeveralCorpora
    queries: Stage[Queries]
    samples: Samples

    def ranges(self, run: Run) -> list[SubCorpus]:
        """Return the sub-corpora with the rows of their queries."""
        samples = run.read(self.samples).samples
        prefixes = [samples[i].corpus_prefix for i in run.read(self.queries).sample.tolist()]
        return [
            SubCorpus(part.number, part.chunks, np.flatnonzero([query_prefix == prefix for query_prefix in prefixes]))
            for part, prefix in zip(self.corpora.ranges(run), self.corpora.prefixes, strict=True)
        ]


SearchedCorpora = OneCorpus | QueriedCorpora


def split_corpus(data: DatasetStages, chunks: Stage[Spans]) -> SubCorpora:
    """Return the corpora of a data set that are indexed separately, or its single corpus."""
    if not any(data.corpus_prefixes):
        return OneCorpus()
    return SeveralCorpora(data.corpus_prefixes, data.corpus, chunks)


def add_query_rows(corpora: SubCorpora, queries: Stage[Queries], samples: Samples) -> SearchedCorpora:
    """Return the corpora with the queries that search each of them."""
    return corpora if isinstance(corpora, OneCorpus) else QueriedCorpora(corpora, queries, samples)


def select_query_rows(parts: Sequence[SubCorpus], query_rows: Rows) -> list[SubCorpus]:
    """Return the sub-corpora with the rows of their queries among the chosen queries."""
    if isinstance(query_rows, slice):  # a slice means all queries
        return list(parts)
    return [
        part
        if isinstance(part.queries, slice)
        else part._replace(queries=np.flatnonzero(np.isin(query_rows, part.queries)))
        for part in parts
    ]


def join(indexes: Sequence[Parts]) -> Parts:
    """Join the arrays of all sub-corpora's indexes under separate names; a single one keeps its names."""
    if len(indexes) == 1:
        return dict(indexes[0])
    return {f"{number}.{name}": array for number, index in enumerate(indexes) for name, array in index.items()}


def arrays_of_part(joined: Parts, part: SubCorpus) -> Parts:
    """Return the arrays of one sub-corpus's index."""
    beginning = f"{part.number}."
    arrays = {name.removeprefix(beginning): array for name, array in joined.items() if name.startswith(beginning)}
    return arrays or dict(joined)


def split_index(joined: Parts) -> list[Parts]:
    """Return the arrays of each index that was passed to `join`."""
    numbers = sorted({number for name in joined for number, dot, _ in [name.partition(".")] if dot}, key=int)
    return [arrays_of_part(joined, SubCorpus(int(number))) for number in numbers] or [joined]


def rows(passages: Passages, selection: Rows) -> Passages:
    """Return some of the passages, with their terms and titles."""
    if isinstance(selection, slice):
        if selection == ALL:
            return passages
        texts: Sequence[str] = passages.texts[selection]
        titles: Sequence[str] = passages.titles[selection]
    else:
        texts = [passages.texts[row] for row in selection]
        titles = [passages.titles[row] for row in selection] if passages.titles else ()
    terms = passages.terms
    chosen_terms = terms and Terms(terms.ids, terms.first[selection], terms.last[selection], terms.n_vocabulary)
    return Passages(texts, chosen_terms, titles)


def merge(part_hits: Sequence[Hits], parts: Sequence[SubCorpus], n_queries: int) -> Hits:
    """Join the hits of all queries.

    Positions of the input are among the chunks of its sub-corpus, positions of the result are among all chunks.
    """
    shifted = [
        Hits(np.where(hits.chunk >= 0, hits.chunk + np.int32(part.chunks.start or 0), -1), hits.score)
        for hits, part in zip(part_hits, parts, strict=True)
    ]
    return join_hits(shifted, parts, n_queries)


def join_hits(part_hits: Sequence[Hits], parts: Sequence[SubCorpus], n_queries: int) -> Hits:
    """Join the hits of all queries from the hits of each sub-corpus, whose positions are already among all chunks."""
    width = max(hits.chunk.shape[1] for hits in part_hits)
    chunk = np.full((n_queries, width), -1, dtype=np.int32)
    score = np.full((n_queries, width), -np.inf, dtype=np.float32)
    for hits, part in zip(part_hits, parts, strict=True):
        chunk[part.queries, : hits.chunk.shape[1]] = hits.chunk
        score[part.queries, : hits.score.shape[1]] = hits.score
    return Hits(chunk, score)
