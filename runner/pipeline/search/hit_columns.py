"""Columns of the table of samples about hits: their ranks in several rankings, and the gold that they contain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from components.gold_places import GoldLocator, GoldPieces, SampleSpans
from components.records import ChunkOrigins, Context, Hits, Sample, Spans
from runner.pipeline.corpus.listed_documents import DocumentList

GOLD_TYPE = pa.list_(
    pa.struct(
        [
            ("document_id", pa.string()),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("grade", pa.int32()),
            ("n_characters", pa.int32()),
            ("n_in_context", pa.int32()),
        ]
    )
)

RETRIEVED_TYPE = pa.list_(
    pa.struct(
        [
            ("document_id", pa.string()),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("score", pa.float32()),
            ("in_context", pa.bool_()),
            ("rank", pa.int32()),
            ("gold_grade", pa.int32()),
            ("rank_dense", pa.int32()),
            ("rank_sparse", pa.int32()),
            ("rank_before_rerank", pa.int32()),
        ]
    )
)
"""Type for a cell whose searches have no other names."""

FOUND_GOLD_TYPE = pa.list_(
    pa.struct([("rank", pa.int32()), ("gold", pa.int32()), ("start", pa.int32()), ("end", pa.int32())])
)


@dataclass(frozen=True)
class HitTable:
    """The hits of all samples in sequence, best first.

    `row` int64 is the sample of each hit, `chunk` its chunk, `place` its place in the original texts, and `rank` the
    rank of the chunk, from 1. A chunk of a refined text may have several original spans.
    """

    n_samples: int
    row: NDArray[np.int64]
    chunk: NDArray[np.int64]
    place: NDArray[np.int64]
    rank: NDArray[np.int64]

    def lists(self, values: pa.Array, rows: NDArray[np.int64]) -> pa.Array:
        """Return values in the order of samples as one list per sample."""
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.n_samples))]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values)


def hit_table(hits: Hits, chunks: Spans) -> HitTable:
    """Return the table of hits, which are given as spans."""
    row, column = np.nonzero(hits.chunk >= 0)
    place = hits.chunk[row, column].astype(np.int64)
    chunk = chunks.chunk[place].astype(np.int64) if isinstance(chunks, ChunkOrigins) else place
    is_new_row = np.diff(row, prepend=-1) != 0
    is_new = is_new_row | (np.diff(chunk, prepend=-1) != 0)
    count = np.cumsum(is_new)
    before = (count - 1)[is_new_row]
    rank = count - np.repeat(before, np.bincount(row, minlength=len(hits))[row[is_new_row]])
    return HitTable(len(hits), row.astype(np.int64), chunk, place, rank)


def retrieved_column(
    table: HitTable,
    hits: Hits,
    chunks: Spans,
    listing: DocumentList,
    context: Context,
    grades: pa.Array,
    ranks: Mapping[str, pa.Array],
) -> pa.Array:
    """Return `retrieved`: the document, place, score, rank and gold grade of each hit, and whether it is in the
    context.

    `ranks` are its ranks in other rankings, each as `rank_<name>`.
    """
    is_found = hits.chunk >= 0
    in_context = np.zeros(hits.chunk.shape, dtype=bool)
    for column in context.chunk.T:
        in_context |= (hits.chunk == column[:, None]) & is_found
    document_ids = listing.documents["id"].combine_chunks()
    columns = {
        "document_id": pa.DictionaryArray.from_arrays(chunks.document[table.place], document_ids).dictionary_decode(),
        "start": pa.array(chunks.start[table.place], pa.int32()),
        "end": pa.array(chunks.end[table.place], pa.int32()),
        "score": pa.array(hits.score[is_found], pa.float32()),
        "in_context": pa.array(in_context[is_found]),
        "rank": pa.array(table.rank, pa.int32()),
        "gold_grade": grades,
        **{f"rank_{name}": array for name, array in ranks.items()},
    }
    return table.lists(pa.StructArray.from_arrays(list(columns.values()), names=list(columns)), table.row)


def build_spans(rows: NDArray[np.int64], places: NDArray[np.int64], chunks: Spans) -> SampleSpans:
    """Return the chunks as spans of the samples in `rows`."""
    return SampleSpans(
        rows,
        chunks.document[places].astype(np.int64),
        chunks.start[places].astype(np.int64),
        chunks.end[places].astype(np.int64),
    )


@dataclass(frozen=True)
class GoldColumns:
    """Gold of samples in the hits of a `table` and in the contexts."""

    samples: Sequence[Sample]
    places: GoldLocator
    table: HitTable
    hit_pieces: GoldPieces
    context_pieces: GoldPieces
    chosen_pieces: GoldPieces | None = None
    """Gold in the chunks that were chosen for the contexts, if a compressor shortened them."""

    def gold(self) -> pa.Array:
        """Return `gold`: each unit with its place, its grade and its counts of characters.

        `n_characters` is null if its document is not in the corpus. `n_in_context` counts its characters in the
        context. `n_chosen` counts them before a compressor, if there is one.
        """
        n_units = len(self.places.lengths)
        chosen = None if self.chosen_pieces is None else self.chosen_pieces.n_characters(n_units)
        return gold_column(self.samples, self.places.lengths, self.context_pieces.n_characters(n_units), chosen)

    def found(self) -> pa.Array:
        """Return `found_gold`: the characters [start, end) of a gold unit in the hit at `rank`, in place or as a copy.

        The unit is given by its position in `gold`.
        """
        n_units = [len(sample.gold) for sample in self.samples]
        first = np.cumsum([0, *n_units[:-1]])
        row = self.table.row[self.hit_pieces.span]
        columns = {
            "rank": self.table.rank[self.hit_pieces.span],
            "gold": self.hit_pieces.gold - first[row],
            "start": self.hit_pieces.start,
            "end": self.hit_pieces.end,
        }
        arrays = [pa.array(column, pa.int32()) for column in columns.values()]
        return self.table.lists(pa.StructArray.from_arrays(arrays, names=list(columns)), row)

    def grades(self) -> pa.Array:
        """Return the highest grade of the gold in each hit; null for a hit without gold."""
        unit_grades = np.array([unit.grade for sample in self.samples for unit in sample.gold], dtype=np.int64)
        grades = np.zeros(len(self.table.row), dtype=np.int64)
        np.maximum.at(grades, self.hit_pieces.span, unit_grades[self.hit_pieces.gold])
        return pa.array(grades, pa.int32(), mask=grades == 0)


def gold_columns(
    samples: Sequence[Sample], places: GoldLocator, table: HitTable, chunks: Spans, context: Context
) -> GoldColumns:
    """Return the gold in hits and contexts, which are given as spans."""
    row, column = np.nonzero(context.chunk >= 0)
    in_context = build_spans(row.astype(np.int64), context.chunk[row, column].astype(np.int64), chunks)
    in_hits = build_spans(table.row, table.place, chunks)
    return GoldColumns(samples, places, table, places.find_pieces(in_hits), places.find_pieces(in_context))


def add_compressed_counts(gold: GoldColumns, spans: Spans, context: Context) -> GoldColumns:
    """Return the columns with the gold in the texts that a compressor retained, and in the chunks before it."""
    row, column = np.nonzero(context.chunk >= 0)
    retained = build_spans(row.astype(np.int64), context.chunk[row, column].astype(np.int64), spans)
    return replace(gold, context_pieces=gold.places.find_pieces(retained), chosen_pieces=gold.context_pieces)


def gold_column(
    samples: Sequence[Sample],
    n_characters: Sequence[int | None],
    n_in_context: Sequence[int | None] | NDArray[np.int64],
    n_chosen: NDArray[np.int64] | None = None,
) -> pa.Array:
    """Return each unit with its place, its grade and its counts.

    The counts are given for the units of all samples in sequence. A data set with alternatives also has `one_of`, a
    cell with a compressor `n_chosen`.
    """
    units = [unit for sample in samples for unit in sample.gold]
    columns: dict[str, Sequence[int | str | None] | NDArray[np.int64]] = {
        "document_id": [unit.document_id for unit in units],
        "start": [unit.start for unit in units],
        "end": [unit.end for unit in units],
        "grade": [unit.grade for unit in units],
        "n_characters": n_characters,
        "n_in_context": n_in_context,
    }
    fields = list(GOLD_TYPE.value_type)
    if any(unit.one_of for unit in units):
        columns["one_of"] = [unit.one_of for unit in units]
        fields.append(pa.field("one_of", pa.int32()))
    if n_chosen is not None:
        columns["n_chosen"] = n_chosen
        fields.append(pa.field("n_chosen", pa.int32()))
    arrays = [pa.array(column, field.type) for column, field in zip(columns.values(), fields, strict=True)]
    offsets = np.cumsum([0, *(len(sample.gold) for sample in samples)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.StructArray.from_arrays(arrays, fields=fields))
